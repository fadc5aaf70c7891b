import {EventEmitter} from 'node:events'
import {describe, expect, it} from 'vitest'
import {listenForInterrupt, type SignalSource} from '../../../../src/cli/run/interrupt.js'

class FakeProcess extends EventEmitter implements SignalSource {
  exits: number[] = []
  exit(code: number): void {
    this.exits.push(code)
  }
}

describe('listenForInterrupt', () => {
  it.each([
    ['SIGINT', 'SIGINT'],
    ['SIGTERM', 'SIGTERM'],
    ['SIGHUP', 'SIGINT'],
    ['SIGHUP', 'SIGTERM'],
  ])('aborts on a first %s and leaves on a second %s', (first, second) => {
    const source = new FakeProcess()
    const interruption = listenForInterrupt(source)
    source.emit(first)
    expect(interruption.signal.aborted).toBe(true)
    expect(source.exits).toEqual([])
    source.emit(second)
    expect(source.exits).toEqual([130])
  })

  it.each(['SIGHUP', 'SIGINT', 'SIGTERM'])(
    'does not leave before the lock is released when SIGHUP comes after %s',
    first => {
      const source = new FakeProcess()
      const interruption = listenForInterrupt(source)
      for (const signal of [first, 'SIGHUP', 'SIGHUP']) source.emit(signal)
      expect(interruption.signal.aborted).toBe(true)
      expect(source.exits).toEqual([])
    },
  )

  it('gives the signals back when it is disposed of', () => {
    const source = new FakeProcess()
    listenForInterrupt(source).dispose()
    expect(source.eventNames()).toEqual([])
  })
})
