import {expect, it} from 'vitest'
import {heightAmong, heightAt, type LogLine, passesOne} from '../../../src/stats/index.js'

/** The power law factor * x^power between 2 and 50. */
const law = (factor: number, power: number): LogLine => [
  {x: 2, y: factor * 2 ** power},
  {x: 50, y: factor * 50 ** power},
]

it.each([
  [1, 1],
  [0.01, 2],
  [30, -0.5],
])('a line through points of %d x^%d is that law', (factor, power) => {
  for (const x of [2, 3, 17, 50, 400]) {
    expect(heightAt(law(factor, power), x)).toMatchReference(factor * x ** power, 9)
  }
})

it('a line passes 1 where its law does, within its points or beyond', () => {
  expect(passesOne(law(1 / 9, 2))).toMatchReference(3, 12)
  expect(passesOne(law(7, -1))).toMatchReference(7, 12)
  expect(passesOne(law(1e-4, 2))).toMatchReference(100, 9)
})

it('a line passes 1 nowhere where it is flat, or a height has no logarithm', () => {
  expect(passesOne(law(3, 0))).toBeNaN()
  expect(
    passesOne([
      {x: 1, y: Number.NaN},
      {x: 2, y: 2},
    ]),
  ).toBeNaN()
  expect(
    passesOne([
      {x: 1, y: -1},
      {x: 2, y: 2},
    ]),
  ).toBeNaN()
})

it('a broken line has the heights of its pieces, and none beyond them', () => {
  const places = [
    {x: 1, y: 1},
    {x: 4, y: 16},
    {x: 16, y: 4},
  ]
  expect(heightAmong(places, 2)).toMatchReference(4, 12)
  expect(heightAmong(places, 8)).toMatchReference(8, 12)
  for (const {x, y} of places) expect(heightAmong(places, x)).toBe(y)
  expect(heightAmong(places, 0.9)).toBeUndefined()
  expect(heightAmong(places, 17)).toBeUndefined()
  expect(heightAmong([], 1)).toBeUndefined()
})
