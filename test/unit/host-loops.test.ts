import {afterEach, expect, it} from 'vitest'
import {bringHostLoops, hostLoops} from '../../src/host-loops.js'

afterEach(() => bringHostLoops({}))

it('has no loops until a backend brings some, and those of the last one only', () => {
  expect(hostLoops()).toEqual({})
  const softmaxRows = () => {}
  bringHostLoops({softmaxRows})
  expect(hostLoops().softmaxRows).toBe(softmaxRows)
  bringHostLoops({})
  expect(hostLoops().softmaxRows).toBeUndefined()
})
