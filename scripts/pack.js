#!/usr/bin/env node
// Packs what is built, from a copy in another folder: the packed package.json differs from the one of the checkout
// (packed-manifest.js), and nothing here is changed. Arguments go to npm pack; the file is written into the working
// folder, unless --pack-destination names another.
//
// As `prepack` it refuses `npm pack` and `npm publish` of the checkout itself: its package.json is not meant for
// others.
import {spawnSync} from 'node:child_process'
import {createHash} from 'node:crypto'
import {copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {filesInUse} from './aside.js'
import {npm} from './node-gyp.js'
import {packedManifest} from './packed-manifest.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const [first, ...rest] = process.argv.slice(2)

if (first === '--prepack') refuse()
else pack(first === undefined ? [] : [first, ...rest])

function refuse() {
  if (!['pack', 'publish'].includes(process.env.npm_command)) return
  process.stderr.write(
    `rfa: npm ${process.env.npm_command} of a checkout would make @tensorflow/tfjs-node a dependency of all who install it\n` +
      '     try: npm run pack (or pack:release, with prebuilt kernels): its file can be installed and published\n',
  )
  process.exitCode = 1
}

function pack(args) {
  const stage = mkdtempSync(join(tmpdir(), 'rfa-pack-'))
  try {
    const report = JSON.parse(runNpm(root, ['--json', '--dry-run'], 'pipe').stdout)
    const [{files}] = Object.values(report) // a list, and by name since npm 12
    // a build leaves the files of the one before to programs that run
    const program = 'dist/program/'
    const inUse = new Set(filesInUse(join(root, 'dist', 'program.json')))
    const paths = files
      .map(({path}) => path)
      .filter(path => !path.startsWith(program) || inUse.has(path.slice(program.length)))
    for (const path of paths) {
      mkdirSync(dirname(join(stage, path)), {recursive: true})
      copyFileSync(join(root, path), join(stage, path))
    }
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    writeJson(join(stage, 'package.json'), packedManifest(manifest))
    writeChecksums(stage, paths)
    const {status} = runNpm(stage, ['--pack-destination', process.cwd(), ...args], 'inherit')
    process.exitCode = status ?? 1
  } finally {
    rmSync(stage, {recursive: true, force: true})
  }
}

function runNpm(cwd, args, stdout) {
  return spawnSync(process.execPath, [npm(), 'pack', '--ignore-scripts', ...args], {
    cwd,
    stdio: ['ignore', stdout, 'inherit'],
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
}

/** In the format of `sha256sum`, run in prebuilds/: what loads an addon compares it (src/backends/native/prebuilt.ts). */
function writeChecksums(stage, paths) {
  const addons = paths.filter(path => path.endsWith('.node')).sort()
  const lines = addons.map(path => {
    const sum = createHash('sha256')
      .update(readFileSync(join(stage, path)))
      .digest('hex')
    return `${sum}  ${path.slice('prebuilds/'.length)}\n`
  })
  if (lines.length > 0) writeFileSync(join(stage, 'prebuilds', 'SHA256SUMS'), lines.join(''))
}

function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`)
}
