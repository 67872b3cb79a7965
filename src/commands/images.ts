import { image as imageShape } from '../api/resources.ts';
import { group } from '../cli/command.ts';
import { choice, negatable, text } from '../cli/parameters.ts';
import { getCommand, listCommand } from '../cli/shapes.ts';
import { findImage } from './images/find.ts';

export const images = group({
  summary: 'Images that instances are made from',
  commands: {
    list: listCommand({
      summary: 'List images',
      columns: [
        'id',
        'name',
        'version',
        'os',
        'type',
        { key: 'state', long: true },
        { key: 'owner', long: true },
        { key: 'public', long: true },
        { key: 'published_at', title: 'PUBLISHED', as: 'time' },
      ],
      id: 'id',
      shape: imageShape,
      options: {
        name: text('Only of this name'),
        os: text('Only of this operating system'),
        version: text('Only of this version'),
        public: negatable('Only public, or only private images'),
        state: choice('Only in this state', ['active', 'unactivated', 'disabled', 'creating', 'failed', 'all'], { placeholder: 'STATE' }),
        owner: text('Only of this owner', { placeholder: 'UUID' }),
        type: text('Only of this kind'),
      },
      fetch: ({ compute, account, options }) => compute.listImages({ account, ...options }),
      examples: [
        { line: 'cloud images list --os linux', help: 'Linux images' },
        { line: 'cloud images list --state all -j', help: 'Every image in every state, as JSON' },
      ],
    }),
    get: getCommand({
      summary: 'Show an image',
      argument: 'image',
      help: 'Id, beginning of an id, name@version, or name for the newest',
      values: 'image',
      id: 'id',
      shape: imageShape,
      fetch: findImage,
      examples: [
        { line: 'cloud images get ubuntu-24.04', help: 'The newest image of a name' },
        { line: 'cloud images get ubuntu-24.04@20240612 -j', help: 'One version, as JSON' },
      ],
    }),
  },
});
