import {EventEmitter} from 'node:events'
import {describe, expect, it, vi} from 'vitest'
import {watchForNoEnd} from '../../../src/cli/no-end.js'

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
