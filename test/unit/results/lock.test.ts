import {spawnSync} from 'node:child_process'
import {existsSync} from 'node:fs'
import {mkdir, readdir, readFile, utimes, writeFile} from 'node:fs/promises'
import {hostname} from 'node:os'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {takeLock} from '../../../src/results/lock.js'
import {newFolder} from './support/folder.js'

/** A process that has ended: its number is nobody's, most likely. */
const deadPid = () => spawnSync(process.execPath, ['-e', '0']).pid

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
    const path = await lockPath({pid: deadPid(), host: hostname(), started: '1'})
    await takeLock(path)
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({pid: process.pid})
    expect(await readdir(join(path, '..'))).toEqual(['records.lock'])
  })

  it.runIf(process.platform === 'linux')(
    'takes over when the number of the process was given to a new one',
    async () => {
      const path = await lockPath({pid: process.pid, host: hostname(), started: '1'})
      await takeLock(path)
    },
  )

  it('believes a lock from another host', async () => {
    const path = await lockPath({pid: deadPid(), host: 'elsewhere', started: null})
    await expect(takeLock(path)).rejects.toMatchObject({
      message: expect.stringContaining('on elsewhere'),
      suggestions: expect.arrayContaining([expect.stringContaining('delete the lock file')]),
    })
  })

  it('believes a half-written lock while it is fresh, not when it is old', async () => {
    const path = await lockPath('{"pid":')
    await expect(takeLock(path)).rejects.toThrow(/a process that just starts/)
    await utimes(path, new Date(0), new Date(0))
    await (await takeLock(path)).release()
  })

  it('says that the folder cannot be written when it is not there', async () => {
    const path = join(await newFolder(), 'missing', 'records.lock')
    await expect(takeLock(path)).rejects.toMatchObject({code: 'NOT_WRITABLE'})
  })

  it('says so when the lock cannot be read', async () => {
    const path = await lockPath()
    await mkdir(path)
    await expect(takeLock(path)).rejects.toMatchObject({code: 'NOT_WRITABLE'})
  })
})
