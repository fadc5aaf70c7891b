/** The wheel in a fresh virtual environment, where no npm and no other Node is. `npm run test:install`. */
import {execFileSync, spawnSync} from 'node:child_process'
import {copyFileSync, mkdirSync, readdirSync, readFileSync} from 'node:fs'
import {basename, delimiter, join} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {temporaryFolder} from '../helpers/folders.js'
import {run} from './projects.js'
import {INSTALL} from './release.js'

const {saysNoNetwork} = await import(join(packageRoot(), 'scripts', 'pip-failure.js'))

const hasPython = spawnSync('python3', ['-c', 'import venv, ensurepip']).status === 0
const folder = temporaryFolder()
/** Nothing of the machine: neither Node nor npm. */
const ENV = {PATH: '/nowhere', HOME: folder, NO_COLOR: '1'}

/** A guard against hanging, in ms: registries may be slow. */
const PATIENCE = 30 * 60_000

describe.runIf(INSTALL && hasPython)('the wheel, installed by pip', {timeout: PATIENCE}, () => {
  const bin = join(folder, 'venv', 'bin')
  const work = join(folder, 'work')
  /** What README tells a reader to type: an installation, and a first sweep. */
  const section = readFileSync(join(packageRoot(), 'README.md'), 'utf8').split('\n## Python\n')[1]!
  const [install = '', sweep = ''] = section
    .match(/```sh\n(.*?)```/s)![1]!
    .trim()
    .split('\n')
  const inVenv = {...process.env, PATH: [bin, process.env.PATH].join(delimiter)}
  let missing: string | undefined

  beforeAll(() => {
    const script = join(packageRoot(), 'scripts', 'pack-python.js')
    const said = execFileSync(process.execPath, [script, '--pack-destination', folder], {
      encoding: 'utf8',
    })
    const wheel = said.split('\n')[0]!
    execFileSync('python3', ['-m', 'venv', join(folder, 'venv')])
    mkdirSync(work)
    copyFileSync(wheel, join(work, basename(wheel)))
    const {status, stderr} = spawnSync(install, {
      cwd: work,
      env: inVenv,
      shell: true,
      encoding: 'utf8',
    })
    if (status !== 0 && saysNoNetwork(stderr)) missing = 'pip could not reach its package index'
    else expect(status, stderr).toBe(0)
  }, PATIENCE)

  it('answers the first sweep of README', async ({skip}) => {
    skip(missing !== undefined, missing)
    const quiet = {...ENV, PATH: [bin, '/bin', '/usr/bin'].join(delimiter)}
    const {status, stdout, stderr} = spawnSync(sweep, {
      cwd: work,
      env: quiet,
      shell: true,
      encoding: 'utf8',
    })
    expect(status, stderr).toBe(0)
    expect(stdout).toContain('Error on arrays.safetensors: 4 heads, 256 tokens')
  })

  it('runs a sweep on the kernels of the package, with the Node of its own environment', async ({
    skip,
  }) => {
    skip(missing !== undefined, missing)
    const doctor = await run([join(bin, 'rfa'), 'doctor'], work, ENV)
    expect(doctor.said).toMatch(/ok +native/)
    const sweep = await run([join(bin, 'rfa'), 'error-sweep', '--quick'], work, ENV)
    expect(sweep.status, sweep.said).toBe(0)
    expect(sweep.said).toMatch(/\d+ cells in /)
    expect(readdirSync(join(work, 'results')).length).toBeGreaterThan(0)
  })

  it('is a command and a module, which end with the exit code of the program', async ({skip}) => {
    skip(missing !== undefined, missing)
    const version = await run([join(bin, 'rfa'), '--version'], work, ENV)
    expect(version.said).toMatch(/^rfa\/\d+\.\d+\.\d+ linux-\w+ node-v2\d/)
    const wrong = await run([join(bin, 'python'), '-m', 'rfa', 'methods', 'favr'], work, ENV)
    expect(wrong.status).toBe(2)
    expect(wrong.said).toContain('did you mean favor-pos?')
  })

  it('draws figures and writes pages without a network', async ({skip}) => {
    skip(missing !== undefined, missing)
    const words = ['error-sweep', '--quick', '--methods', 'elu', '--targets', 'raw', '-o', 'sweep']
    expect((await run([join(bin, 'rfa'), ...words], work, ENV)).status).toBe(0)
    const files = ['--png', 'png', '--pdf', 'pdf', '--html', 'page.html']
    const report = await run([join(bin, 'rfa'), 'report', 'sweep', ...files], work, ENV)
    expect(report.status, report.said).toBe(0)
  })
})
