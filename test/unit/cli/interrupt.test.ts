import {EventEmitter} from 'node:events'
import {describe, expect, it} from 'vitest'
import {listenForInterrupt, type SignalSource} from '../../../src/cli/interrupt.js'

class FakeProcess extends EventEmitter implements SignalSource {
  exits: number[] = []
  exit(code: number): void {
    this.exits.push(code)
  }
}

describe('listenForInterrupt', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'])(
    'aborts on the first %s and leaves on the second',
    signal => {
      const source = new FakeProcess()
      const interruption = listenForInterrupt(source)
      source.emit(signal)
      expect(interruption.signal.aborted).toBe(true)
      expect(source.exits).toEqual([])
      source.emit(signal)
      expect(source.exits).toEqual([130])
    },
  )

  it('gives the signals back when it is disposed of', () => {
    const source = new FakeProcess()
    listenForInterrupt(source).dispose()
    expect(source.eventNames()).toEqual([])
  })
})
