import {EventEmitter} from 'node:events'
import {describe, expect, it, vi} from 'vitest'
import {watchForExit, watchForNoEnd} from '../../../../src/cli/program/never-settles.js'

describe('watchForNoEnd', () => {
  it('tells once of a process that stays idle, not of one that goes on from it', () => {
    const source = new EventEmitter()
    const tell = vi.fn()
    watchForNoEnd(tell, source)
    source.emit('beforeExit')
    expect(tell).not.toHaveBeenCalled()
    source.emit('beforeExit')
    source.emit('beforeExit')
    expect(tell).toHaveBeenCalledOnce()
  })

  it('tells nothing of what has ended', () => {
    const source = new EventEmitter()
    const tell = vi.fn()
    watchForNoEnd(tell, source)()
    expect(source.listenerCount('beforeExit')).toBe(0)
  })
})

describe('watchForExit', () => {
  it('tells of an exit with any code but that of an interrupt, until the watch ends', () => {
    const source = new EventEmitter()
    const tell = vi.fn()
    const end = watchForExit(tell, source)
    source.emit('exit', 130)
    expect(tell).not.toHaveBeenCalled()
    source.emit('exit', 0)
    expect(tell).toHaveBeenCalledOnce()
    end()
    expect(source.listenerCount('exit')).toBe(0)
  })
})
