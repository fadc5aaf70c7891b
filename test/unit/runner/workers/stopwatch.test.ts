import {afterEach, beforeEach, describe, expect, it, vi} from 'vitest'
import {Stopwatch, TimeLimit} from '../../../../src/runner/workers/stopwatch.js'

describe('Stopwatch', () => {
  it('adds up the time in which it runs', () => {
    const clock = {ms: 100}
    const watch = new Stopwatch(() => clock.ms)
    clock.ms += 5
    expect(watch.ms).toBe(5)
    watch.stop()
    clock.ms += 50
    expect([watch.ms, watch.running]).toEqual([5, false])
    watch.start()
    clock.ms += 7
    watch.start() // it runs already
    expect([watch.ms, watch.running]).toEqual([12, true])
  })
})

describe('TimeLimit', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('acts when the time is up, less the time in which it stood still', () => {
    const act = vi.fn()
    const limit = new TimeLimit(100, act)
    vi.advanceTimersByTime(60)
    limit.pause()
    vi.advanceTimersByTime(1000)
    limit.resume()
    vi.advanceTimersByTime(39)
    expect(act).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(act).toHaveBeenCalledTimes(1)
  })

  it.each([null, 100])('does not act once it has ended, nor without a limit (%s)', limitMs => {
    const act = vi.fn()
    const limit = new TimeLimit(limitMs, act)
    if (limitMs !== null) limit.end()
    vi.advanceTimersByTime(1e6)
    expect(act).not.toHaveBeenCalled()
  })
})
