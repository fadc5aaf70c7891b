/** One layer of a file: norms, angles and entropy of its heads. */
import {useBackend} from '../../../backends/index.js'
import {attendedNorms} from '../../../inputs/attended-norms.js'
import {sizesOf} from '../../../inputs/attention-input.js'
import {loadInput} from '../../../inputs/load.js'
import {partsInView} from '../../../inputs/masked-tokens.js'
import {type InputStatistics, inputStatistics, meanStatistics} from '../../../inputs/statistics.js'
import {viewOf} from '../../axes.js'
import {computedBy} from '../../computed-by.js'
import type {CellContext, CellOutcome} from '../../experiment.js'
import type {InputsCell, InputsResult} from '../schema.js'

/** Runs one cell. Tokens that a mask hides do not count. */
export async function runInputsCell(
  cell: InputsCell,
  how: CellContext = {},
): Promise<CellOutcome<InputsResult>> {
  const {input: spec, layer, logit_scale, seed, backend: choice} = cell
  const view = viewOf(cell)
  const backend = await useBackend(choice, {threadShare: how.threadShare})
  const input = await loadInput(spec, {
    seqLen: null,
    seed,
    extras: false,
    layer,
    logitScale: logit_scale,
  })
  const {batch, heads, queryLen, keyLen, headDim} = sizesOf(input)
  const logitScale = logit_scale ?? input.logitScale ?? headDim ** -0.5
  const seen = Array.from(partsInView(input, view))
  const parts = seen.map(part => inputStatistics(part, {scale: 1, logitScale, ...view}))
  const {perHead} = meanStatistics(parts)
  const attended = attendedNorms(seen, {logitScale, ...view})
  return {
    status: 'completed',
    result: {
      ...{batch, heads, head_dim: headDim, query_len: queryLen, key_len: keyLen},
      ...computedBy(backend, how),
      logit_scale: logitScale,
      per_head: perHead.map((statistics, head) => ({
        head,
        statistics,
        angle_deg: angleOf(statistics),
        attended_sum_norm2: attended[head]!,
      })),
    },
  }
}

/** `|x+y|^2 - |x-y|^2 = 4 x.y`; rounding may take the cosine beyond 1. */
function angleOf({
  query_norm2,
  key_norm2,
  sum_norm2,
  difference_norm2,
}: InputStatistics): number | null {
  const product = 4 * Math.sqrt(query_norm2) * Math.sqrt(key_norm2)
  if (product === 0) return null
  const cosine = (sum_norm2 - difference_norm2) / product
  return (Math.acos(Math.min(1, Math.max(-1, cosine))) * 180) / Math.PI
}
