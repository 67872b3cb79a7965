import type { ImageRow } from './schema.ts';

/** Column values of an image for which nothing else is specified. */
export const emptyImage = {
  description: null,
  homepage: null,
  eula: null,
  origin: null,
  published_at: null,
  requirements: '{}',
  files: '[]',
  tags: '{}',
  acl: '[]',
  error: null,
  content: null,
} as const satisfies Partial<ImageRow>;
