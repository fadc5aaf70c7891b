import {existsSync} from 'node:fs'
import {writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {startWaiting} from '../../../../src/experiments/bench/waiting.js'
import {newFolder} from '../../../helpers/folders.js'

describe('startWaiting', () => {
  it('tells how long the thread has waited since', async () => {
    const account = join(await newFolder(), 'schedstat')
    await writeFile(account, '5000000 9000 7\n')
    const waited = startWaiting(account)
    expect(waited()).toBe(0)
    await writeFile(account, '6000000 9750 8\n')
    expect(waited()).toBe(750)
  })

  it('knows nothing where the system keeps no account', async () => {
    const account = join(await newFolder(), 'schedstat')
    expect(startWaiting(account)()).toBeNull()
    await writeFile(account, '0 0 0\n')
    expect(startWaiting(account)()).toBeNull()
  })

  it.runIf(existsSync('/proc/thread-self/schedstat'))('reads the account of this thread', () => {
    expect(startWaiting()()).toBeGreaterThanOrEqual(0)
  })
})
