import type { ImageRow } from './schema.ts';

/** What the row of an image has where nothing is said of it. */
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
