#!/usr/bin/env node
// Packs what is built into a wheel for pip: the Python package of python/rfa with the program, and the packages of npm that
// it runs with, inside. It needs neither Python nor a network. The wheel is written into the working folder, or into the one
// after --pack-destination; its path and sizes are printed.
import {spawnSync} from 'node:child_process'
import {createHash} from 'node:crypto'
import {mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join, relative, resolve} from 'node:path'
import {fileURLToPath} from 'node:url'
import {zipSync} from 'fflate'
import {npm} from './node-gyp.js'
import {stagePackage} from './packed-files.js'
import {entryPoints, metadata, pyproject} from './python-metadata.js'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Where the program lies in the wheel; python/rfa/_program.py looks there. */
const PROGRAM = 'rfa/_package'

/**
 * What compiles the addon, which a wheel has compiled or not at all, declarations for TypeScript, and the Python package, which
 * is at its place in the wheel.
 */
const LEFT_OUT =
  /^(native\/|python\/rfa\/|binding\.gyp$|scripts\/(install-native|node-gyp)\.js$)|\.d\.ts$/

/** What no program reads: hidden files, declarations, source maps, tests, pages, copies for browsers. Licences stay. */
const UNREAD =
  /(^|\/)(\.|__fixtures__\/)|\.(map|d\.[cm]?ts|ts|flow|markdown|md|yml)$|\.(min|umd|standalone)\.js$/i
const LICENCE = /(^|\/)(licen[cs]e|notice|copying)[^/]*$/i

/** Packages with files for browsers and bundlers too: the ones that Node loads. */
const LOADED = {
  '@tensorflow/tfjs-core': /^dist\/tf-core\.node\.js$/,
  '@tensorflow/tfjs-backend-cpu': /^dist\/tf-backend-cpu\.node\.js$/,
  '@tensorflow/tfjs-backend-wasm': /^dist\/(tf-backend-wasm\.node\.js|.*\.wasm)$/,
  fontkit: /^dist\/(?!browser)/,
  pdfkit: /^js\/(?!pdfkit\.browser)/,
  'node-addon-api': /^$/,
}

main(process.argv.slice(2))

function main(argv) {
  const at = argv.indexOf('--pack-destination')
  const folder = resolve(at < 0 ? '.' : argv[at + 1])
  const stage = mkdtempSync(join(tmpdir(), 'rfa-wheel-'))
  try {
    const project = pyproject(root)
    const files = {
      ...programFiles(stage),
      ...moduleFiles(),
      ...pythonFiles(),
      ...infoFiles(project),
    }
    const wheel = zipped(files, `${project.name}-${project.version}.dist-info`)
    const path = join(folder, `${project.name}-${project.version}-py3-none-any.whl`)
    writeFileSync(path, wheel)
    const unpacked = Object.values(files).reduce((sum, bytes) => sum + bytes.length, 0)
    process.stdout.write(
      `${path}\n${megabytes(wheel.length)} MB, ${megabytes(unpacked)} MB unpacked\n`,
    )
  } finally {
    rmSync(stage, {recursive: true, force: true})
  }
}

/** Contents of the packed program by their paths in the wheel. */
function programFiles(stage) {
  const paths = stagePackage(root, stage).filter(path => !LEFT_OUT.test(path))
  return Object.fromEntries(
    paths.map(path => [`${PROGRAM}/${path}`, readFileSync(join(stage, path))]),
  )
}

/** The packages of npm that the program runs with, as they are installed here. */
function moduleFiles() {
  const argv = [npm(), 'ls', '--omit=dev', '--omit=optional', '--all', '--parseable']
  const {stdout, status} = spawnSync(process.execPath, argv, {cwd: root, encoding: 'utf8'})
  const folders = stdout.split('\n').filter(line => line.includes('node_modules'))
  if (status !== 0 || folders.length === 0)
    throw new Error('npm ls: expected installed packages; try: npm ci')
  const found = folders.flatMap(folder => filesOf(folder).map(path => join(folder, path)))
  const within = path => relative(root, path).replaceAll('\\', '/')
  return Object.fromEntries(found.map(path => [`${PROGRAM}/${within(path)}`, readFileSync(path)]))
}

/** Files of a package that a program may read, relative to its folder; packages inside it are listed themselves. */
function filesOf(folder) {
  const name = folder
    .split(/node_modules[\\/]/)
    .at(-1)
    .replaceAll('\\', '/')
  const loaded = LOADED[name] ?? /^/
  return readdirSync(folder, {recursive: true, withFileTypes: true})
    .filter(entry => entry.isFile())
    .map(entry => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter(path => !/(^|\/)node_modules\//.test(path))
    .filter(
      path =>
        path === 'package.json' || LICENCE.test(path) || (loaded.test(path) && !UNREAD.test(path)),
    )
}

/** The Python package, and the single file that exports models. */
function pythonFiles() {
  const folder = join(root, 'python')
  const own = readdirSync(join(folder, 'rfa'), {recursive: true, encoding: 'utf8'})
    .filter(path => /\.py$|py\.typed$/.test(path))
    .map(path => `rfa/${path.replaceAll('\\', '/')}`)
  return Object.fromEntries(
    [...own, 'rfa_export.py'].map(path => [path, readFileSync(join(folder, path))]),
  )
}

function infoFiles(project) {
  const info = `${project.name}-${project.version}.dist-info`
  const licences = ['LICENSE', 'THIRD-PARTY-LICENSES.md']
  return {
    [`${info}/METADATA`]: Buffer.from(metadata(project, licences)),
    [`${info}/WHEEL`]: Buffer.from(
      'Wheel-Version: 1.0\nGenerator: rfa\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    ),
    [`${info}/entry_points.txt`]: Buffer.from(entryPoints(project)),
    ...Object.fromEntries(
      licences.map(name => [`${info}/licenses/${name}`, readFileSync(join(root, name))]),
    ),
  }
}

/** The archive, with the list of its files and their sums. */
function zipped(files, info) {
  const rows = Object.entries(files).map(([path, bytes]) => {
    const sum = createHash('sha256').update(bytes).digest('base64url')
    return `${path},sha256=${sum},${bytes.length}\n`
  })
  const record = Buffer.from([...rows, `${info}/RECORD,,\n`].join(''))
  const mtime = new Date(1980, 0, 1, 12) // the same files make the same wheel
  return zipSync({...files, [`${info}/RECORD`]: record}, {level: 9, mtime})
}

function megabytes(bytes) {
  return (bytes / 1e6).toFixed(1)
}
