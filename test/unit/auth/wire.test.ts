import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AuthorizationSyntaxError, parseAuthorization } from '../../../src/auth/authorization-header.ts';
import { writeDerSequence, writeDerSignature } from '../../../src/auth/der.ts';
import { InvalidKeyError, readPublicBlob, readPublicKey } from '../../../src/auth/public-key.ts';
import { createWireReader, writeField, writeInteger, writeUint32 } from '../../../src/auth/wire.ts';
import { makeFolder, makeKey } from './witness.ts';

const folder = makeFolder();

/** What the call throws, if anything. */
function takeError(call: () => unknown): unknown {
  try {
    call();
    return undefined;
  } catch (error) {
    return error;
  }
}

describe('the wire format of SSH', () => {
  it('writes and reads numbers with and without a leading zero', () => {
    expect(writeInteger(Buffer.from('00007f', 'hex')).toString('hex')).toBe('000000017f');
    expect(writeInteger(Buffer.from('80', 'hex')).toString('hex')).toBe('000000020080');
    const reader = createWireReader(Buffer.concat([writeInteger(Buffer.from('80', 'hex')), writeField('é'), writeUint32(7), Buffer.of(9)]));
    expect([reader.readInteger().toString('hex'), reader.readText(), reader.readUint32(), reader.atEnd()]).toEqual(['80', 'é', 7, false]);
    expect([reader.readByte(), reader.atEnd()]).toEqual([9, true]);
    expect(() => reader.readByte()).toThrow(RangeError);
  });

  it('refuses numbers that are zero or negative', () => {
    for (const bytes of ['', '00', 'ff'])
      expect(() => createWireReader(writeField(Buffer.from(bytes, 'hex'))).readInteger()).toThrow(RangeError);
  });
});

describe('DER', () => {
  it('writes signatures whose numbers begin with zeros or a high bit', () => {
    expect(writeDerSignature(Buffer.from('00007f', 'hex'), Buffer.from('ff01', 'hex')).toString('hex')).toBe('300802017f020300ff01');
  });

  it('writes lengths of one, two and three bytes', () => {
    for (const [size, header] of [
      [127, '307f'],
      [128, '308180'],
      [256, '30820100'],
    ] as const) {
      expect(writeDerSequence(Buffer.alloc(size)).subarray(0, -size).toString('hex')).toBe(header);
    }
  });
});

describe('damaged input', () => {
  it.each([
    ['rsa', '2048'],
    ['ecdsa', '256'],
    ['ed25519', '256'],
  ])('of a key of type %s is refused as such, whatever byte changed', (type, bits) => {
    const { openssh } = readPublicKey(readFileSync(`${makeKey(folder, type, '-t', type, '-b', bits)}.pub`, 'utf8'));
    const blob = Buffer.from(openssh.split(' ')[1] ?? '', 'base64');
    const change = fc.record({ at: fc.nat(blob.length - 1), to: fc.nat(255), cut: fc.nat(blob.length) });
    fc.assert(
      fc.property(change, ({ at, to, cut }) => {
        const damaged = Buffer.from(blob);
        damaged[at] = to;
        for (const bytes of [damaged, damaged.subarray(0, cut)]) {
          const error = takeError(() => readPublicBlob(bytes));
          if (error !== undefined && !(error instanceof InvalidKeyError)) throw error;
        }
      }),
      { numRuns: 300 },
    );
  });

  it('in an Authorization header is refused as such', () => {
    const piece = fc.constantFrom(
      'Signature',
      ' ',
      'keyId',
      'algorithm',
      'signature',
      '=',
      '"',
      ',',
      'rsa-sha256',
      '/a/keys/b',
      'AAAA',
      '\t',
      'é',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const error = takeError(() => parseAuthorization(`Signature ${pieces.join('')}`));
        if (error !== undefined && !(error instanceof AuthorizationSyntaxError)) throw error;
      }),
      { numRuns: 1000 },
    );
  });
});
