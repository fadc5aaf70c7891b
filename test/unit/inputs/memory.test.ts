import {expect, it, vi} from 'vitest'
import {assertMemory} from '../../../src/inputs/memory.js'

const machine = (free: number) => vi.fn(() => ({total: 2 ** 34, free}))

it('asks the system once for many small arrays, and for each large one', () => {
  const memory = machine(2 ** 33)
  for (let array = 0; array < 20_000; array++) assertMemory('f', 400, undefined, memory)
  expect(memory).toHaveBeenCalledTimes(1)
  for (let array = 0; array < 5; array++) assertMemory('f', 2 ** 25, undefined, memory)
  expect(memory).toHaveBeenCalledTimes(6)
})

it('refuses what is more than free, and what is more than was left', () => {
  const memory = machine(100)
  expect(() => assertMemory('f', 101, undefined, memory)).toThrow('100 bytes of available memory')
  assertMemory('f', 60, undefined, memory)
  memory.mockReturnValue({total: 2 ** 34, free: 20})
  assertMemory('f', 30, undefined, memory)
  expect(() => assertMemory('f', 30, undefined, memory)).toThrow('20 bytes of available memory')
})
