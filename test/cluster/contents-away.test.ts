import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'vitest';
import { endure, useFaultyCluster } from '../support/faulty-cluster.ts';
import { lacksHaproxy } from '../support/haproxy.ts';
import { scale } from '../support/scale.ts';

/** The contents cannot be reached for a while: the folder, or the store that `CLOUD_TEST_BYTES` names. */

const used = useFaultyCluster();

test.skipIf(lacksHaproxy())('the contents are away', { timeout: 240_000 }, async () => {
  const { home, storeGate } = used.cluster;
  const folder = join(home, 'bytes');
  const seconds = scale(2, 5);
  const name = storeGate === undefined ? 'the folder of contents' : 'the S3 store';
  await endure(used.cluster, `${name} away for ${seconds} s`, async () => {
    if (storeGate === undefined) await rename(folder, `${folder}.away`);
    else storeGate.cut();
    await sleep(seconds * 1000);
    if (storeGate === undefined) await rename(`${folder}.away`, folder);
    else storeGate.mend();
  });
});
