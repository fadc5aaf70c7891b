/** Runs whose folder is full, or goes away under them: they end with a remedy, what is saved stays, and they go on. */
import {execFileSync, spawnSync} from 'node:child_process'
import {chmodSync, chownSync, cpSync, mkdirSync, renameSync, rmSync} from 'node:fs'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {describe, expect, it, onTestFinished} from 'vitest'
import {FULL} from '../helpers/effort.js'
import {newFolder, temporaryFolder} from '../helpers/folders.js'
import {complete, expectNoneLeft, journalOf, type Started, start, tablesOf} from './runs.js'

const sweepOf = (replicates: number) => [
  ...['error-sweep', '--generator', 'gaussian', '--heads', '3', '--head-dim', '17', '--seq-len'],
  ...['31', '--methods', 'elu,mean-value,softmax,favor-pos', '--num-features', '8,16,32,64,128'],
  ...['--replicates', String(replicates), '--threads', '2'],
]
const SWEEP = sweepOf(3)
/** Of cells that take long enough for something to happen in the midst of them. */
const SLOW_SWEEP = sweepOf(2000)

const folder = temporaryFolder()
let reference: Promise<Record<string, unknown>> | undefined

/** Files and tables of a run of {@link SWEEP} that nothing happened to. */
function undisturbed(): Promise<Record<string, unknown>> {
  const output = join(folder, 'undisturbed')
  reference ??= complete([...SWEEP, '--output', output], {cwd: folder}).then(({code, stderr}) => {
    expect(code, stderr).toBe(0)
    return tablesOf(output)
  })
  return reference
}

/** All but the end of a journal, which is empty: nothing is torn. */
function wholeLines(output: string): string[] {
  const lines = journalOf(output)
  expect(lines.at(-1)).toBe('')
  for (const line of lines.slice(0, -1)) expect(JSON.parse(line)).toHaveProperty('status')
  return lines.slice(0, -1)
}

async function expectGoesOn(output: string, saved: readonly string[]): Promise<void> {
  const last = await complete([...SWEEP, '--output', output, '--resume'], {cwd: folder})
  expect(last, last.stderr).toMatchObject({code: 0})
  expect(journalOf(output).slice(0, saved.length)).toEqual(saved)
  expect(tablesOf(output)).toEqual(await undisturbed())
}

/** Whether this process may mount a file system of so many KiB there; it goes with the test. */
function mounted(place: string, kib: number): boolean {
  mkdirSync(place)
  const options = ['-t', 'tmpfs', '-o', `size=${kib}k`, 'none', place]
  if (spawnSync('mount', options).status !== 0) return false
  onTestFinished(() => void execFileSync('umount', ['--lazy', place]))
  return true
}

describe.runIf(FULL && process.platform === 'linux')('a full disk', () => {
  it.for([20, 32, 44])(
    'of %i KiB ends a run, which then goes on to the same bytes',
    async (kib, context) => {
      const place = join(folder, `disk-${kib}`)
      if (!mounted(place, kib)) return context.skip('no file system can be mounted here')
      const output = join(place, 'run')
      const {code, stderr} = await complete([...SWEEP, '--output', output], {cwd: folder})
      expect(code, stderr).toBe(3)
      expect(stderr).toMatch(
        /expected a place to write a file, got a full disk \(ENOSPC\)\nCode: NOT_WRITABLE {3}Try: free some space, .*\n +then go on with: rfa error-sweep .* --resume\n$/,
      )
      const saved = wholeLines(output)
      execFileSync('mount', ['-o', 'remount,size=4m', place])
      await expectGoesOn(output, saved)
    },
  )

  // 1 KiB blocks: the manifest has two to three; without root, too
  it.each([4, 16, 24])('told by a limit of %i KiB for files does the same', async kib => {
    const output = join(folder, `limit-${kib}`)
    const {code, stderr} = await complete([...SWEEP, '--output', output], {
      cwd: folder,
      before: `ulimit -f ${kib}`,
    })
    expect(code, stderr).toBe(3)
    expect(stderr).toMatch(/EFBIG.*\nCode: NOT_WRITABLE {3}Try: raise the limit .*ulimit -f/)
    const saved = wholeLines(output)
    await expectGoesOn(output, saved)
  })
})

/** A run of which the first records are saved. */
async function underWay(output: string, uid?: number): Promise<Started> {
  const run = start([...SLOW_SWEEP, '--output', output], {cwd: folder, ...(uid && {uid})})
  onTestFinished(() => void run.child.kill('SIGKILL'))
  while (journalOf(output).length < 2 && run.child.exitCode === null) await sleep(5)
  return run
}

/** It ended because its folder cannot be written, long before its last cell. */
async function expectStopped(run: Started, message: RegExp): Promise<void> {
  const {code, stderr} = await run.ended
  expect(code, stderr).toBe(3)
  expect(stderr).toMatch(/Code: NOT_WRITABLE {3}Try: /)
  expect(stderr).toMatch(message)
  await expectNoneLeft(run)
}

describe.runIf(FULL && process.platform === 'linux')('a folder that goes under its run', () => {
  it('ends the run when it is deleted, and is not made anew', async () => {
    const output = join(await newFolder(), 'run')
    const run = await underWay(output)
    rmSync(output, {recursive: true})
    await expectStopped(run, /moved or deleted during the run/)
    expect(journalOf(output)).toEqual([''])
  })

  it('ends the run when it is renamed, and goes on under its new name', async () => {
    const parent = await newFolder()
    const output = join(parent, 'run')
    const run = await underWay(output)
    renameSync(output, join(parent, 'moved'))
    await expectStopped(run, /moved or deleted during the run/)
    expect(journalOf(output)).toEqual([''])
    expect(wholeLines(join(parent, 'moved')).length).toBeGreaterThan(0)
    const again = start([...SLOW_SWEEP, '--output', join(parent, 'moved'), '--resume'], {
      cwd: folder,
    })
    const before = wholeLines(join(parent, 'moved')).length
    while (journalOf(join(parent, 'moved')).length - 1 <= before) await sleep(5)
    again.child.kill('SIGINT')
    expect((await again.ended).code).toBe(130)
  })

  it('ends the run when another takes its name, of which nothing is touched', async () => {
    const parent = await newFolder()
    const output = join(parent, 'run')
    const run = await underWay(output)
    cpSync(output, join(parent, 'other'), {recursive: true})
    rmSync(join(parent, 'other', 'records.lock'), {force: true})
    renameSync(output, join(parent, 'moved'))
    renameSync(join(parent, 'other'), output)
    const before = journalOf(output)
    await expectStopped(run, /moved or deleted during the run/)
    expect(journalOf(output)).toEqual(before)
  })

  it('says when it was made read-only, and keeps what was saved', async context => {
    const parent = await newFolder()
    const output = join(parent, 'run')
    // permissions do not stop root: somebody else runs it
    const uid = process.getuid?.() === 0 ? 65534 : undefined
    chmodSync(parent, 0o777)
    if (uid !== undefined) chownSync(parent, uid, uid)
    const version = await complete(['--version'], {cwd: '/', ...(uid && {uid})})
    if (version.code !== 0) return context.skip('the project cannot be read by another user')
    const run = start([...sweepOf(300), '--output', output], {
      cwd: '/',
      ...(uid && {uid}),
    })
    while (journalOf(output).length < 2 && run.child.exitCode === null) await sleep(5)
    chmodSync(output, 0o555)
    const {code, stderr} = await run.ended
    expect(code, stderr).toBe(3)
    expect(stderr).toMatch(/a place that must not be written \(EACCES\)\nCode: NOT_WRITABLE/)
    expect(stderr).toMatch(/then go on with: rfa error-sweep .* --resume\n$/)
    const saved = wholeLines(output)
    expect(saved.length).toBeGreaterThan(0)
    chmodSync(output, 0o755)
    rmSync(join(output, 'records.lock'), {force: true})
    const last = await complete([...sweepOf(300), '--output', output, '--resume'], {
      cwd: '/',
      ...(uid && {uid}),
    })
    expect(last, last.stderr).toMatchObject({code: 0})
    expect(journalOf(output).slice(0, saved.length)).toEqual(saved)
  })
})
