import {afterEach, describe, expect, it} from 'vitest'
import {
  dropAhead,
  startAhead,
  startOthers,
  takeOther,
  takeWorker,
} from '../../../../src/runner/workers/prestarted-worker.js'
import {isRunning} from '../../../helpers/runner/jobs.js'

afterEach(() => dropAhead())

/** Whether the worker that is taken was started by what was typed. */
async function starts(...argv: string[]): Promise<boolean> {
  const worker = startAhead(argv)
  const taken = takeWorker('variance')
  await taken.kill()
  return taken === worker
}

describe('a worker ahead of the command line', () => {
  it('is started for what runs an experiment, and is the one that is taken', async () => {
    expect(await starts('error-sweep', '--quick')).toBe(true)
    expect(await starts('bench')).toBe(true)
  })

  it.each([
    [['methods']],
    [['report', 'bench']],
    [['help', 'bench']],
    [[]],
    [['bench', '--help']],
    [['bench', '--quick', '--dry-run']],
  ])('is not started for %j', async argv => {
    expect(await starts(...argv)).toBe(false)
  })

  it('has others beside it, which are taken one by one', async () => {
    const first = startAhead(['variance'])
    startOthers('variance', 2)
    expect(takeWorker('variance')).toBe(first)
    const [second, third] = [takeOther(), takeOther()]
    expect(new Set([first?.pid, second?.pid, third?.pid]).size).toBe(3)
    expect(takeOther()).toBeUndefined()
    for (const worker of [first, second, third]) await worker?.kill()
    startOthers('variance', 1)
    await dropAhead()
    expect(takeOther()).toBeUndefined()
  })

  it('ends when nobody has taken it', async () => {
    const {pid} = startAhead(['variance'])!
    expect(isRunning(pid!)).toBe(true)
    await dropAhead()
    expect(isRunning(pid!)).toBe(false)
  })
})
