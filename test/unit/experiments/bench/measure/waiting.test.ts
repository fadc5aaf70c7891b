import {existsSync} from 'node:fs'
import {mkdir, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {startRunWait, startWaiting} from '../../../../../src/experiments/bench/measure/waiting.js'
import {newFolder} from '../../../../helpers/folders.js'

/** Writes what the scheduler would say: ns computed, ns waited and turns, by thread. */
async function say(
  folder: string,
  accounts: Record<string, [number, number, number?]>,
): Promise<void> {
  for (const [thread, [computed, waited, turns = 7]] of Object.entries(accounts)) {
    await mkdir(join(folder, thread), {recursive: true})
    await writeFile(join(folder, thread, 'schedstat'), `${computed} ${waited} ${turns}\n`)
  }
}

describe('startWaiting', () => {
  it('says how long a thread has waited since', async () => {
    const threads = await newFolder()
    await say(threads, {1: [5000000, 9000]})
    const waited = startWaiting(threads)
    expect(waited()).toBe(0)
    await say(threads, {1: [6000000, 9750]})
    expect(waited()).toBe(750)
  })

  it('goes by the thread that waited longest of those that compute, one that is new among them', async () => {
    const threads = await newFolder()
    await say(threads, {1: [1000, 10], 2: [1000, 10], 3: [1000, 10]})
    const waited = startWaiting(threads, 0)
    await say(threads, {1: [9000, 20], 2: [8000, 510], 3: [1500, 99_999]})
    expect(waited()).toBe(500)
    await say(threads, {4: [7000, 700]})
    expect(waited()).toBe(700)
  })

  it('takes off what waking a thread takes anyway, each time it was woken', async () => {
    const threads = await newFolder()
    await say(threads, {1: [1000, 400, 10], 2: [1000, 0, 3]})
    const waited = startWaiting(threads, 50)
    await say(threads, {1: [9000, 1100, 20], 2: [9000, 100, 3]})
    // 700 in ten turns, 100 in none
    expect(waited()).toBe(200)
    await say(threads, {1: [9000, 800, 20], 2: [9000, 10, 5]})
    expect(waited()).toBe(0)
    await say(threads, {3: [9500, 300, 4]})
    expect(waited()).toBe(100)
  })

  it('knows nothing where the system keeps no account', async () => {
    const threads = await newFolder()
    expect(startWaiting(join(threads, 'none'))()).toBeNull()
    await say(threads, {1: [0, 0]})
    expect(startWaiting(threads)()).toBeNull()
  })

  it.runIf(existsSync('/proc/self/task'))('reads the accounts of this process', () => {
    expect(startWaiting()()).toBeGreaterThanOrEqual(0)
  })
})

describe('startRunWait', () => {
  it('says how long the main thread waited since, less what waking takes', async () => {
    const threads = await newFolder()
    await say(threads, {1: [1000, 10, 1]})
    const waited = startRunWait(join(threads, '1', 'schedstat'), 50)
    expect(waited()).toBe(0)
    await say(threads, {1: [9000, 510, 3]})
    expect(waited()).toBe(400)
    expect(startRunWait(join(threads, 'none'), 0)()).toBe(0)
  })
})
