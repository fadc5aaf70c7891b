/** scripts/python-environment.js, with requirements that need no network. */
import {spawnSync} from 'node:child_process'
import {existsSync, readdirSync, rmSync, symlinkSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {FULL} from '../helpers/effort.js'
import {newFolder} from '../helpers/folders.js'

const {saysNoNetwork} = await import(join(packageRoot(), 'scripts', 'pip-failure.js'))

/** An environment takes ten seconds: full runs only. */
const makes = FULL && spawnSync('python3', ['-c', 'import venv, ensurepip']).status === 0

/** Runs the script; `requirements` is the content of the file that it is given. */
async function make(
  requirements: string,
  {command = [], env = {}}: {command?: string[]; env?: NodeJS.ProcessEnv} = {},
) {
  const folder = await newFolder()
  const file = join(folder, 'requirements.txt')
  writeFileSync(file, requirements)
  const {RFA_PYTHON: _, ...outside} = process.env
  const own = {...outside, RFA_PYTHON_ENVIRONMENTS: join(folder, 'environments'), ...env}
  const script = 'scripts/python-environment.js'
  const args = [script, file, ...command]
  const again = () => spawnSync(process.execPath, args, {env: own, encoding: 'utf8'})
  return {...again(), again, made: join(folder, 'environments')}
}

/** A PATH on which there is Node and nothing else. */
async function pathWithoutPython(): Promise<string> {
  const folder = await newFolder()
  symlinkSync(process.execPath, join(folder, 'node'))
  return folder
}

const PRINT = ['node', '-p', '"python: " + process.env.RFA_PYTHON']

describe('the script of Python environments', () => {
  it.runIf(makes)('makes an environment once, and runs a command with its Python', async () => {
    const first = await make('# nothing\n', {command: PRINT})
    expect(first.stderr).toContain('installing')
    const python = first.stdout.trim().replace('python: ', '')
    expect(python.startsWith(first.made)).toBe(true)
    const prefix = spawnSync(python, ['-c', 'import sys; print(sys.prefix != sys.base_prefix)'])
    expect(String(prefix.stdout).trim()).toBe('True')
    const second = first.again()
    expect(second).toMatchObject({status: 0, stdout: first.stdout, stderr: ''})
  })

  it.runIf(makes)('fails on requirements that cannot be met, and leaves nothing', async () => {
    const {status, stderr, made} = await make('--no-index\nnumpy==99\n', {
      env: {PIP_FIND_LINKS: ''},
    })
    expect(status).toBe(1)
    expect(stderr).toContain('numpy==99')
    expect(readdirSync(made)).toEqual([])
  })

  it.runIf(makes)('makes an environment again whose Python does not run', async () => {
    const {stdout, again} = await make('# nothing\n')
    rmSync(stdout.trim())
    const second = again()
    expect(second).toMatchObject({status: 0, stdout})
    expect(second.stderr).toContain('is broken and made again')
    expect(spawnSync(stdout.trim(), ['-c', '']).status).toBe(0)
  })

  it('distinguishes no network from requirements that cannot be met, by what pip says last', () => {
    const retry = (left: number) =>
      `WARNING: Retrying (Retry(total=${left}, connect=None)) after connection broken by 'NewConnectionError(Failed to establish a new connection)': /simple/a/`
    const none =
      'ERROR: Could not find a version that satisfies the requirement a (from versions: none)'
    const other =
      'ERROR: Could not find a version that satisfies the requirement a==9 (from versions: 1.0, 2.0)'
    const broken = 'ERROR: HTTPSConnectionPool(host=files): Max retries exceeded'
    expect(saysNoNetwork([retry(4), retry(0), none].join('\n'))).toBe(true)
    expect(saysNoNetwork(broken)).toBe(true)
    expect(saysNoNetwork([retry(4), other].join('\n'))).toBe(false)
    expect(saysNoNetwork([retry(4), none].join('\n'))).toBe(false)
    expect(saysNoNetwork([retry(0), other].join('\n'))).toBe(false)
  })

  it('takes the Python of RFA_PYTHON as it is', async () => {
    const {stdout, made} = await make('numpy==99', {env: {RFA_PYTHON: '/own/python'}})
    expect(stdout).toBe('/own/python\n')
    expect(existsSync(made)).toBe(false)
  })

  it('says that there is no Python, and runs the command without', async () => {
    const env = {PATH: await pathWithoutPython()}
    const alone = await make('', {env})
    expect(alone).toMatchObject({status: 3, stdout: ''})
    expect(alone.stderr).toMatch(/no Python 3\.10 or newer/)
    const {status, stdout, stderr} = await make('', {env, command: PRINT})
    expect({status, stdout}).toEqual({status: 0, stdout: 'python: undefined\n'})
    expect(stderr).toContain('what needs Python is skipped')
  })

  it("ends with the command's exit code", async () => {
    const env = {RFA_PYTHON: '/own/python'}
    const {status} = await make('', {env, command: ['node', '-e', 'process.exit(7)']})
    expect(status).toBe(7)
  })

  it('asks for a requirements file', () => {
    const {status, stderr} = spawnSync('node', ['scripts/python-environment.js', 'absent.txt'])
    expect(status).toBe(1)
    expect(String(stderr)).toContain('expected a requirements file, got absent.txt')
  })
})
