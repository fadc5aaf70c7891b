import {afterEach, describe, expect, it} from 'vitest'
import {
  dropAhead,
  startAhead,
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

  it('ends when nobody has taken it', async () => {
    const {pid} = startAhead(['variance'])!
    expect(isRunning(pid!)).toBe(true)
    await dropAhead()
    expect(isRunning(pid!)).toBe(false)
  })
})
