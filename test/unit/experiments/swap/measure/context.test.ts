/** The loss of a text is its own, whatever other texts are in its batch. */
import {expect, it} from 'vitest'
import {runSwapCell} from '../../../../../src/experiments/swap/measure/cell.js'
import type {SwapResult} from '../../../../../src/experiments/swap/schema.js'
import {swapCellOf} from '../../../../helpers/swap-cells.js'

const TEXTS = ['short text', 'a longer text of some more letters']

async function resultOf(method: string, texts: readonly string[], M: number): Promise<SwapResult> {
  const cell = await swapCellOf(method, {texts, M})
  const projection = method === 'eva' ? null : 'orth'
  const outcome = await runSwapCell({...cell, replicates: 1, projection})
  if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome))
  return outcome.result
}

it.each(['oprf', 'eva', 'cosformer'])('a text by %s loses what it loses alone', async method => {
  const together = await resultOf(method, TEXTS, 8)
  const alone: SwapResult[] = []
  for (const text of TEXTS) alone.push(await resultOf(method, [text], 8))
  // parts are texts here: there are fewer than groups of them
  const damages = together.parts!.map(({damage}) => damage)
  const singles = alone.map(({parts}) => parts![0]!.damage)
  damages.forEach((damage, text) => {
    expect(damage).toBeCloseTo(singles[text]!, 4)
  })
})
