import { group } from '../../cli/command.ts';
import { abort, commit, create, get, list } from './life.ts';
import { parts, putPart, upload } from './parts.ts';

export const mpu = group({
  summary: 'Multipart uploads: large objects in parts',
  description:
    'cloud stor put does all of this automatically for large files. An upload is given by its id, the first 8 or more characters of its id, or the path of its parts directory.',
  commands: { create, upload, 'put-part': putPart, parts, get, commit, abort, list },
});
