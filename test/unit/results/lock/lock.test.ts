import {spawn, spawnSync} from 'node:child_process'
import {existsSync} from 'node:fs'
import {
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import {hostname} from 'node:os'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {describe, expect, it, onTestFinished, vi} from 'vitest'
import {takeLock} from '../../../../src/results/lock/lock.js'
import {processSpace, startOf} from '../../../../src/results/lock/processes.js'
import {newFolder} from '../../../helpers/folders.js'

/** A process that has ended: its number is nobody's, most likely. */
const deadPid = () => spawnSync(process.execPath, ['-e', '0']).pid

/** A process of this machine and container. */
const here = {host: hostname(), space: processSpace()}
const elsewhere = {pid: process.pid, host: 'elsewhere', space: null, started: null}

/** Makes a file look as if it was written some seconds ago. */
async function age(path: string, seconds: number) {
  const time = Date.now() / 1000 - seconds
  await utimes(path, time, time)
}

/** For what takes milliseconds on an idle machine. */
const patient = {timeout: 120_000}
const linux = it.runIf(process.platform === 'linux')

const lockPath = async (owner?: object | string) => {
  const path = join(await newFolder(), 'records.lock')
  if (owner) await writeFile(path, typeof owner === 'string' ? owner : JSON.stringify(owner))
  return path
}

describe('takeLock', () => {
  it('holds the file until it is released', async () => {
    const path = await lockPath()
    const lock = await takeLock(path)
    expect(existsSync(path)).toBe(true)
    await lock.release()
    expect(existsSync(path)).toBe(false)
    await (await takeLock(path)).release()
  })

  it('refuses a second owner, naming the first', async () => {
    const path = await lockPath()
    const lock = await takeLock(path)
    await expect(takeLock(path)).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
      message: `${path}: expected a folder that no other rfa writes into, got one locked by process ${process.pid} on ${hostname()}`,
    })
    await lock.release()
  })

  it('lets exactly one of many at once in', async () => {
    const path = await lockPath()
    const attempts = await Promise.allSettled(Array.from({length: 7}, () => takeLock(path)))
    expect(attempts.filter(({status}) => status === 'fulfilled')).toHaveLength(1)
  })

  it('releases once: a second release does not take the lock from the next owner', async () => {
    const path = await lockPath()
    const first = await takeLock(path)
    await first.release()
    await takeLock(path)
    await first.release()
    expect(existsSync(path)).toBe(true)
  })

  it('takes over from a process that is gone, and leaves nothing behind', async () => {
    const path = await lockPath({pid: deadPid(), ...here, started: '1'})
    await takeLock(path)
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({pid: process.pid})
    expect(await readdir(join(path, '..'))).toEqual(['records.lock'])
  })

  linux('takes over when the number of the process was given to a new one', async () => {
    const path = await lockPath({pid: process.pid, ...here, started: '1'})
    await takeLock(path)
  })

  linux(
    'takes over from a process that was killed, but not asked about by its parent',
    async () => {
      const pid = await zombie()
      const path = await lockPath({pid, ...here, started: startOf(pid)})
      await takeLock(path)
    },
  )

  it('believes a lock from another host as long as its owner gives signs of life', async () => {
    const path = await lockPath(elsewhere)
    await age(path, 50)
    await expect(takeLock(path)).rejects.toMatchObject({
      message: expect.stringMatching(/got one locked by process \d+ on elsewhere, last seen 5\d s/),
      suggestions: [
        'wait for it, or choose another `output`',
        'a stale lock is broken 60 s after its owner was last seen',
      ],
    })
    await age(path, 70)
    await takeLock(path)
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({pid: process.pid, ...here})
    expect(await readdir(join(path, '..'))).toEqual(['records.lock'])
  })

  it('gives up a lock whose last sign of life is of the future', async () => {
    const path = await lockPath(elsewhere)
    await age(path, -86_400)
    await takeLock(path)
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({pid: process.pid, ...here})
  })

  linux('does not take a process of another container for one of its own', async () => {
    const path = await lockPath({...elsewhere, host: hostname(), space: 'another', pid: deadPid()})
    await expect(takeLock(path)).rejects.toThrow(/last seen/)
  })

  it('takes over where a takeover was left unfinished', async () => {
    const gone = {pid: deadPid(), ...here, started: '1'}
    const path = await lockPath(gone)
    await writeFile(`${path}.takeover`, JSON.stringify(gone))
    await writeFile(`${path}.takeover.takeover`, '')
    await age(`${path}.takeover.takeover`, 70)
    await takeLock(path)
    expect(await readdir(join(path, '..'))).toEqual(['records.lock'])
  })

  it('leaves a lock alone that another process is about to take over', async () => {
    const path = await lockPath({pid: deadPid(), ...here, started: '1'})
    const guard = `${path}.takeover`
    await writeFile(guard, JSON.stringify(elsewhere))
    const before = await readFile(path, 'utf8')
    await expect(takeLock(path)).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
      message: expect.stringContaining(`locked by process ${process.pid} on elsewhere`),
    })
    expect(await readFile(path, 'utf8')).toBe(before)
    expect(await readFile(guard, 'utf8')).toBe(JSON.stringify(elsewhere))
  })

  it('gives signs of life that reach the file server', async () => {
    const path = await lockPath()
    const file = await open(path, 'w')
    const flush = vi.spyOn(Object.getPrototypeOf(file), 'datasync')
    onTestFinished(() => flush.mockRestore())
    await file.close()
    await rm(path)
    const lock = await takeLock(path, 20)
    await expect.poll(() => flush.mock.calls.length, patient).toBeGreaterThan(2)
    await lock.release()
  })

  it('has a text of its own every time', async () => {
    const path = await lockPath()
    const texts = new Set<string>()
    for (let time = 0; time < 3; time++) {
      const lock = await takeLock(path)
      texts.add(await readFile(path, 'utf8'))
      await lock.release()
    }
    expect(texts.size).toBe(3)
  })

  it('gives signs of life, so that another host believes it', async () => {
    const path = await lockPath()
    const lock = await takeLock(path, 20)
    await age(path, 70)
    const silence = async () => Date.now() - (await stat(path)).mtimeMs
    await expect.poll(silence, patient).toBeLessThan(60_000)
    await lock.release()
  })

  it.each([
    ['its file was deleted', (path: string) => rm(path)],
    [
      'another process has it in a file of the same number',
      (path: string) => writeFile(path, JSON.stringify(elsewhere)),
    ],
    [
      'its folder was moved',
      (path: string) => rename(join(path, '..'), `${join(path, '..')}-moved`),
    ],
    [
      'another process has it',
      async (path: string) => {
        await writeFile(`${path}.other`, JSON.stringify(elsewhere))
        await rename(`${path}.other`, path)
      },
    ],
  ])('notices that it was lost when %s, and then leaves alone what is there', async (_, lose) => {
    const path = await lockPath()
    onTestFinished(() => rm(`${join(path, '..')}-moved`, {recursive: true, force: true}))
    const lock = await takeLock(path, 20)
    await lock.check()
    await lose(path)
    const error = {code: 'NOT_WRITABLE', message: expect.stringContaining('lock that this run')}
    await expect.poll(() => lock.lost.aborted, patient).toBe(true)
    expect(lock.lost.reason).toMatchObject(error)
    await expect(lock.check()).rejects.toMatchObject(error)
    const there = existsSync(path)
    const text = there && (await readFile(path, 'utf8'))
    await lock.release()
    expect(existsSync(path) && (await readFile(path, 'utf8'))).toBe(text)
  })

  it.each([
    ['a link to nowhere', (path: string) => symlink('/nowhere/at/all', path), 'a symbolic link'],
    ['a folder', (path: string) => mkdir(path).then(() => {}), 'a folder'],
  ])('refuses %s in its place', async (_, make, got) => {
    const path = await lockPath()
    await make(path)
    await expect(takeLock(path)).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
      message: `${path}: expected a lock file, got ${got}`,
      suggestions: ['delete it'],
    })
  })

  it('believes a half-written lock while it is fresh, not when it is old', async () => {
    const path = await lockPath('{"pid":')
    await expect(takeLock(path)).rejects.toThrow(/a process that is starting/)
    await utimes(path, new Date(0), new Date(0))
    await (await takeLock(path)).release()
  })

  it('says that the folder cannot be written when it is not there', async () => {
    const path = join(await newFolder(), 'missing', 'records.lock')
    await expect(takeLock(path)).rejects.toMatchObject({code: 'NOT_WRITABLE'})
  })
})

/** A process that has ended, and whose parent lives on without asking for its exit code. */
async function zombie(): Promise<number> {
  // it ends after the shell, which would ask, has become another program
  const parent = spawn('sh', ['-c', 'sleep 0.5 & echo $!; exec sleep 60'])
  onTestFinished(() => void parent.kill('SIGKILL'))
  const pid = await new Promise<number>(resolve => {
    parent.stdout.once('data', chunk => resolve(Number(chunk)))
  })
  const state = async () => / (\w) /.exec(await readFile(`/proc/${pid}/stat`, 'utf8'))?.[1]
  while ((await state()) !== 'Z') await sleep(5)
  return pid
}
