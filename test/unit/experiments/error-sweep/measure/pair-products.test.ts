import {afterEach, expect, it} from 'vitest'
import {pairProducts} from '../../../../../src/experiments/error-sweep/measure/pair-products.js'
import {bringHostLoops} from '../../../../../src/host-loops.js'

afterEach(() => bringHostLoops({}))

const VECTORS = Float32Array.of(1, 2, 3, 4, 5, ...[0, 1, 0, -1, 2], ...[2, 0, 0, 0, 1])

it('has the product of every pair once, each with those before it', () => {
  expect([...pairProducts(VECTORS, 3)]).toEqual([8, 7, 2])
  expect([...pairProducts(VECTORS, 1)]).toEqual([])
})

it('takes the loop of the backend where it has one', () => {
  bringHostLoops({pairProducts: (vectors, count) => Float64Array.of(vectors.length, count)})
  expect([...pairProducts(VECTORS, 3)]).toEqual([15, 3])
})
