import {describe, expect, it, onTestFinished, vi} from 'vitest'
import {duration, progressText, startProgress} from '../../../../src/cli/run/progress.js'

const event = {
  done: 37,
  total: 96,
  label: 'favor-pos L=4096',
  soFar: '',
  etaMs: 190_000,
  share: 0.419,
  rough: false,
  failed: 0,
}

/** A stream that keeps what is written to it. */
function fakeStream(shape: {isTTY?: boolean; columns?: number} = {}) {
  const written: string[] = []
  const stream = {
    ...shape,
    write: (text: string) => written.push(text) > 0,
    cursorTo() {},
    clearLine() {},
    moveCursor() {},
    on() {},
    off() {},
    once() {},
    removeListener() {},
  }
  return {stream: stream as unknown as NodeJS.WriteStream, written}
}

describe('progressText', () => {
  it('tells cells, time left and the current cell', () => {
    expect(progressText(event)).toBe('37/96 cells, 41 %, ETA 3m 10s, favor-pos L=4096')
  })

  it('tells what is known of the current cell so far', () => {
    const soFar = '8.6x so far'
    expect(progressText({...event, soFar})).toBe(
      '37/96 cells, 41 %, ETA 3m 10s, favor-pos L=4096 (8.6x so far)',
    )
  })

  it('tells how many cells failed', () => {
    expect(progressText({...event, failed: 2})).toBe(
      '37/96 cells, 2 failed, 41 %, ETA 3m 10s, favor-pos L=4096',
    )
  })

  it('says that a time left is a guess until there is something to go by', () => {
    const rough = {...event, done: 0, share: 0, rough: true}
    expect(progressText(rough)).toBe('0/96 cells, 0 %, ETA about 3m 10s, favor-pos L=4096')
  })

  it('leaves out what is over', () => {
    expect(progressText({...event, done: 96, etaMs: 0})).toBe('96/96 cells')
  })
})

describe('duration', () => {
  it.each([
    [0, '0s'],
    [59_400, '59s'],
    [59_600, '1m 00s'],
    [190_000, '3m 10s'],
    [7_500_000, '2h 05m'],
  ])('writes %i ms as %s', (ms, text) => {
    expect(duration(ms)).toBe(text)
  })
})

describe('startProgress', () => {
  it.each([
    ['a pipe', {}],
    ['a terminal of no width', {isTTY: true, columns: 0}],
  ])('writes one plain line every ten seconds to %s', async (_, shape) => {
    const {stream, written} = fakeStream(shape)
    let clock = 0
    const progress = await startProgress({stream, quiet: false, now: () => clock})
    for (clock of [3_000, 9_999, 10_000, 12_000, 20_000]) progress.update(event)
    progress.stop()
    const line = `${progressText(event)}\n`
    expect(written).toEqual([line, line])
  })

  it('writes nothing when it is to be quiet', async () => {
    const {stream, written} = fakeStream({isTTY: true, columns: 80})
    const progress = await startProgress({stream, quiet: true})
    progress.update(event)
    progress.stop()
    expect(written).toEqual([])
  })

  it('keeps the spinner on one line of a narrow terminal', async () => {
    await import('ora') // which real timers load
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const {stream, written} = fakeStream({isTTY: true, columns: 29})
    const progress = await startProgress({stream, quiet: false})
    progress.update(event)
    vi.advanceTimersByTime(250)
    expect(written.join('')).toContain('37/96 cells, 41 %, ETA 3m…')
    progress.update({...event, etaMs: 60_000})
    vi.advanceTimersByTime(250)
    progress.stop()
    expect(written.join('')).toContain('37/96 cells, 41 %, ETA 1m…')
  })
})
