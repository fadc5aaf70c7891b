/** The packed package on 64-bit Arm, emulated (scripts/arm64.js). `npm run test:install`. */
import {spawnSync} from 'node:child_process'
import {join} from 'node:path'
import {beforeAll, describe, expect, it, onTestFinished} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {temporaryFolder} from '../helpers/folders.js'
import {newProject, run} from './projects.js'
import {INSTALL, releasePackage} from './release.js'
import {environment} from './tools.js'

/** A guard against hanging, in ms: emulation is slow. */
const PATIENCE = 30 * 60_000

const EMULATOR = join(packageRoot(), 'scripts', 'arm64.js')
const missing = INSTALL ? whyNotEmulated() : 'by npm run test:install only'

/** What the emulator lacks here; `undefined` where it runs. */
function whyNotEmulated(): string | undefined {
  const argv = [EMULATOR, '-e', 'console.log(process.arch)']
  const {status, stdout, stderr} = spawnSync(process.execPath, argv, {encoding: 'utf8'})
  if (status !== 0) return stderr.trim()
  return stdout.trim() === 'arm64' ? undefined : `expected arm64, got ${stdout}`
}

describe('on 64-bit Arm', {timeout: PATIENCE}, () => {
  if (missing) return it.skip(`not tried: ${missing}`, () => {})
  const folder = temporaryFolder()
  let tarball: string
  beforeAll(() => {
    tarball = releasePackage(folder)
  })

  it('example and program run, and compute with NEON', async () => {
    const env = environment(process.execPath, true)
    const project = newProject(onTestFinished)
    const added = await run(
      ['npm', 'install', '--cpu=arm64', tarball, 'typescript@6'],
      project,
      env,
    )
    expect(added.status, added.said).toBe(0)
    expect((await run(['npx', '--no', 'tsc'], project, env)).status).toBe(0)

    const installed = join(project, 'node_modules', 'rfa')
    const there = {...env, RFA_PREBUILD: installed}
    const emulated = (...argv: string[]) => run(['node', EMULATOR, ...argv], project, there)
    expect((await emulated('main.js')).said).toContain('native [ 1, 8, 512, 64 ]')
    const program = join(installed, 'bin', 'run.js')
    expect((await emulated(program, '--version')).said).toContain('linux-arm64')
    const doctor = await emulated(program, 'doctor')
    expect(doctor.said).toMatch(/ok +native +C\+\+ kernels, neon, release build/)
    const tiny = ['--methods=rfa,favor-pos', '--seq-len=64', '--num-features=16', '--replicates=4']
    const sweep = await emulated(program, 'error-sweep', ...tiny, '--details')
    expect(sweep.status, sweep.said).toBe(0)
    expect(sweep.said).toContain('backend native (neon)')
  })
})
