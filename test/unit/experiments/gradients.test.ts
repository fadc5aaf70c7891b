import {describe, expect, it} from 'vitest'
import {missingGradient} from '../../../src/experiments/gradients.js'

describe('errors of methods that cannot be learned with', () => {
  it.each([
    [
      'Cannot compute gradient: gradient function not found for Round.',
      'own: expected a gradient by maps, got an operation without one (Cannot compute gradient: gradient function not found for Round.)',
    ],
    [
      "Kernel 'UnsortedSegmentSum' not registered for backend 'wasm'",
      'own: expected a backend with UnsortedSegmentSum, which learning needs, got wasm',
    ],
  ])('are said in words of the method: %s', (message, own) => {
    expect(missingGradient(new Error(message), 'own', 'maps')).toMatchObject({
      code: 'UNSUPPORTED',
      message: own,
    })
  })

  it('are others as they are', () => {
    const other = new Error('disk full')
    expect(missingGradient(other, 'own', 'maps')).toBe(other)
  })
})
