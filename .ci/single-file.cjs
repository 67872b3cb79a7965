// The beginning of the program as a single file. Its files are in the executable: they are read as if that were a directory.
const fs = require('node:fs');
const Module = require('node:module');
const { getAssetKeys, getRawAsset } = require('node:sea');
const { runInThisContext } = require('node:vm');

const folder = process.execPath;
const assets = getAssetKeys();
const findAsset = (path) => assets.find((name) => path === `${folder}/${name}`);
const readAsset = (name) => Buffer.from(getRawAsset(name));

// What the program does with its own files: it opens one and reads places of it, and reads another as a whole.
const opened = new Map();
const files = {
  openSync: (path, ...rest) => {
    const file = fs.openSync(findAsset(path) === undefined ? path : folder, ...rest);
    if (findAsset(path) !== undefined) opened.set(file, readAsset(findAsset(path)));
    return file;
  },
  readSync: (file, ...rest) => {
    const asset = opened.get(file);
    if (asset === undefined) return fs.readSync(file, ...rest);
    const [buffer, offset, length, position] = rest;
    return asset.copy(buffer, offset, position, position + length);
  },
  readFileSync: (path, ...rest) => (findAsset(path) === undefined ? fs.readFileSync(path, ...rest) : readAsset(findAsset(path))),
};
const ownFiles = Object.setPrototypeOf(files, fs);

const program = new Module(folder, null);
program.require = (id) => (id === 'node:fs' ? ownFiles : require(id));
const load = Object.assign((id) => program.require(id), { cache: Object.create(null) });
// The program starts itself as it would start Node.js: with its file as the first argument.
process.argv[1] = folder;
if (process.argv[2] === folder) process.argv.splice(2, 1);

const name = 'start.js';
const code = readAsset(name).toString('latin1').replace(/^#!.*/, '');
const run = runInThisContext(`(function (exports, require, module, __filename, __dirname) {${code}\n})`, { filename: `${folder}/${name}` });
run.call(program.exports, program.exports, load, program, `${folder}/${name}`, folder);
