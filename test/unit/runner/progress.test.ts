import {describe, expect, it} from 'vitest'
import {progressMeter} from '../../../src/runner/progress.js'
import type {Part} from '../../../src/runner/schedule/parts.js'
import {jobFor} from '../../helpers/runner/jobs.js'

/** Jobs of the given predicted times in ms, with their processes, and a clock that the test sets. */
function session(times: number[], {reused = 0, processes = 1, coldMs = 0, each = 1} = {}) {
  const jobs = times.map((predictedCost, seed) => ({...jobFor('job', seed), predictedCost}))
  const parts = jobs.map(job =>
    Array.from(
      {length: each},
      (_, index): Part => ({
        ...{job, cell: job.cell, isTrial: false},
        ...{index, count: each, share: 1 / each},
      }),
    ),
  )
  const clock = {ms: 1000}
  const meter = progressMeter({
    jobs,
    reused,
    processes,
    coldMs,
    predictedMs: ({predictedCost}) => predictedCost,
    soFar: ({ns}, all) => `${ns} of ${all.map(other => other.ns)}`,
    now: () => clock.ms,
  })
  /** Ends a cell of one process. */
  const end = ([part]: readonly Part[], failed = false) => {
    meter.end(part!)
    return meter.count(failed)
  }
  return {parts, clock, meter, end}
}

describe('progressMeter', () => {
  it('goes by the prediction until there is something else, and says so', () => {
    const {parts, clock, meter, end} = session([1000, 3000])
    expect(meter.start(parts[0]![0]!)).toEqual({
      done: 0,
      total: 2,
      label: 'job 0',
      soFar: '',
      etaMs: 4000,
      share: 0,
      rough: true,
      failed: 0,
    })
    clock.ms += 600
    expect(meter.look()).toMatchObject({etaMs: 3400, share: 0.15, rough: true})
    clock.ms += 400
    expect(end(parts[0]!)).toMatchObject({done: 1, etaMs: 3000, rough: false})
  })

  it('takes no process to be slow for what its first cell alone takes', () => {
    const {parts, clock, meter, end} = session([1000, 1000, 8000], {processes: 2, coldMs: 500})
    expect(meter.look().etaMs).toBe((10_000 + 2 * 500) / 2)
    meter.start(parts[0]![0]!)
    meter.start(parts[1]![0]!)
    clock.ms += 1500
    end(parts[0]!)
    expect(end(parts[1]!).etaMs).toBe(8000 / 2)
  })

  it('corrects predictions by how long cells took', () => {
    const {parts, clock, meter, end} = session([20_000, 60_000])
    meter.start(parts[0]![0]!)
    clock.ms += 60_000 // three times as long
    const {etaMs} = end(parts[0]!)
    // one second of the prediction is still believed
    expect(etaMs).toMatchReference((60_000 * (1000 + 60_000)) / (1000 + 20_000), 7)
    meter.start(parts[1]![0]!)
    expect(end(parts[1]!)).toMatchObject({done: 2, etaMs: 0, share: 1, label: ''})
  })

  it('moves within a cell that tells how far it is, and corrects the others by it', () => {
    const {parts, clock, meter} = session([10_000, 10_000])
    meter.start(parts[0]![0]!)
    clock.ms += 10_000
    meter.hear(parts[0]![0]!, {leftMs: 30_000}) // four times as long
    const slowness = (1000 + 10_000) / (1000 + 2500)
    expect(meter.look()).toMatchObject({rough: false})
    expect(meter.look().etaMs).toMatchReference(30_000 + 10_000 * slowness, 7)
    clock.ms += 5000
    expect(meter.look().etaMs).toMatchReference(25_000 + 10_000 * slowness, 7)
  })

  it('tells what is known of a timed cell so far, by the fastest of all processes', () => {
    const {parts, meter} = session([1000, 1000], {each: 2})
    const [[first, again], [other]] = parts as [[Part, Part], [Part]]
    for (const part of [first, other]) meter.start(part)
    expect(meter.look().soFar).toBe('')
    meter.hear(first, {leftMs: 1, ns: 5})
    meter.hear(other, {leftMs: 1, ns: 7})
    expect(meter.look()).toMatchObject({label: 'job 1', soFar: '7 of 5,7'})
    meter.end(first)
    meter.end(other)
    meter.start(again)
    expect(meter.look()).toMatchObject({label: 'job 0', soFar: '5 of 5,7'})
    meter.hear(again, {leftMs: 1, ns: 6})
    expect(meter.look().soFar).toBe('5 of 5,7')
  })

  it('takes longer for a cell that takes longer than predicted, in silence', () => {
    const {parts, clock, meter} = session([1000])
    meter.start(parts[0]![0]!)
    const etas = [0, 500, 20_000, 60_000].map(ms => {
      clock.ms = 1000 + ms
      return meter.look().etaMs
    })
    expect(etas.slice(0, 2)).toEqual([1000, 500])
    expect(etas[2]).toBeGreaterThan(0)
    expect(etas[3]).toBeGreaterThan(etas[2]!)
  })

  it('divides the time among processes, but no cell among them', () => {
    const {parts, meter} = session([1000, 1000, 1000, 1000], {processes: 2})
    expect(meter.start(parts[0]![0]!).etaMs).toBe(2000)
    const last = session([1000, 8000], {processes: 2})
    last.meter.start(last.parts[0]![0]!)
    expect(last.meter.start(last.parts[1]![0]!).etaMs).toBe(8000)
  })

  it('counts the cells of an earlier session as done, but not their time', () => {
    const {parts, clock, meter, end} = session([1, 1], {reused: 5})
    meter.start(parts[0]![0]!)
    clock.ms += 1
    expect(end(parts[0]!)).toMatchObject({done: 6, total: 7, etaMs: 1})
  })

  it('counts failures', () => {
    const {parts, meter, end} = session([1, 1])
    meter.start(parts[0]![0]!)
    expect(end(parts[0]!, true)).toMatchObject({done: 1, failed: 1})
    meter.start(parts[1]![0]!)
    expect(end(parts[1]!)).toMatchObject({done: 2, failed: 1})
  })

  it('names the cell begun last of those that run', () => {
    const {parts, meter, end} = session([1, 1, 1])
    meter.start(parts[0]![0]!)
    expect(meter.start(parts[1]![0]!).label).toBe('job 1')
    expect(end(parts[1]!).label).toBe('job 0')
  })

  it('has a time left where nothing is predicted to take any', () => {
    const {parts, clock, meter, end} = session([0, 0])
    meter.start(parts[0]![0]!)
    clock.ms += 100
    expect(meter.look().etaMs).toBeGreaterThan(0)
    expect(Number.isFinite(end(parts[0]!).etaMs)).toBe(true)
  })

  it('counts cells, and moves with each of their processes', () => {
    const {parts, clock, meter} = session([3000, 3000], {each: 3})
    const [[one, two, three]] = parts as [[Part, Part, Part]]
    expect(meter.start(one)).toMatchObject({done: 0, total: 2, etaMs: 6000, rough: true})
    clock.ms += 1000
    meter.end(one)
    expect(meter.look()).toMatchObject({done: 0, total: 2, etaMs: 5000, rough: false, label: ''})
    meter.start(two)
    clock.ms += 500
    expect(meter.look()).toMatchObject({done: 0, etaMs: 4500, share: 0.25, label: 'job 0'})
    clock.ms += 500
    meter.end(two)
    meter.start(three)
    clock.ms += 1000
    meter.end(three)
    expect(meter.count(false)).toMatchObject({done: 1, total: 2, etaMs: 3000})
  })

  it('distinguishes processes of one cell', () => {
    const {parts, clock, meter} = session([20_000], {each: 2})
    const [[one, two]] = parts as [[Part, Part]]
    meter.start(one)
    meter.turn(one, false)
    meter.start(two)
    clock.ms += 3000
    meter.hear(two, {leftMs: 7000})
    expect(meter.look().etaMs).toMatchReference(10_000 + 7000, 7)
    meter.turn(two, false)
    meter.turn(one, true)
    clock.ms += 4000
    expect(meter.look().etaMs).toMatchReference(6000 + 7000, 7)
  })
})
