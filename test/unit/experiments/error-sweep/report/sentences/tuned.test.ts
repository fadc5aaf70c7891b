import {expect, it} from 'vitest'
import {rankingOf} from '../../../../../../src/experiments/error-sweep/report/errors/ranking.js'
import {
  tunedNotes,
  tunedPairs,
  tunedSentences,
} from '../../../../../../src/experiments/error-sweep/report/sentences/tuned.js'
import {pairedDifferences} from '../../../../../../src/experiments/error-sweep/report/tables/paired.js'
import type {ErrorSweepCell} from '../../../../../../src/experiments/error-sweep/schema.js'
import {replicated, scattered} from '../../../../../helpers/records/error-sweep.js'

const file = {path: 'tuned.safetensors', digest: '', projection: 'orth' as const}
const tuned = {...file, num_features: 64, draws: null}

const row = (error: number, cell: Partial<ErrorSweepCell>, draws = 9) =>
  replicated(
    scattered(draws, 0).map(factor => error * factor ** 0.02),
    {method: 'favor-pos', projection: 'orth', num_features: 64, replicates: draws, ...cell},
    {},
  )

const plain = row(0.9, {})
const larger = row(0.8, {num_features: 256})
const other = row(0.85, {projection: 'iid'})

it('holds a method with learned parameters against itself with the same draws and M', () => {
  const own = row(0.6, {tuned})
  const rows = [plain, larger, other, own]
  expect(tunedPairs(rows)).toEqual([[own, plain]])
  expect(tunedPairs([larger, other, own])).toEqual([])
  const found = pairedDifferences([larger, other, own], [rankingOf(rows)])
  expect(found.map(({a, b}) => [a, b])).toContainEqual([own, plain])
  const [sentence, ...none] = tunedSentences(rows, rankingOf(rows))
  expect(none).toEqual([])
  expect(sentence).toMatch(
    /^Tuning lowers the error of favor-pos orth M=64 from 90 % to 60 %, 0\.667 .*times what it was\.$/,
  )
})

it('says where it is worse, and where that is not known', () => {
  const sentence = (own: typeof plain) => {
    const rows = [plain, own]
    return tunedSentences(rows, rankingOf(rows))[0]
  }
  expect(sentence(row(1.2, {tuned}))).toMatch(/^Tuning raises the error .* from 90 % to 120 %/)
  expect(sentence(row(0.9, {tuned}))).toBe(
    'Tuning takes the error of favor-pos orth M=64 from 90 % to 90 %, which is not distinguishable.',
  )
})

it('says why nothing is predicted', () => {
  expect(tunedNotes([plain])).toEqual([])
  expect(tunedNotes([plain, row(0.6, {tuned})])).toEqual([
    'nothing is predicted for favor-pos (tuned): theory does not know learned parameters',
  ])
})
