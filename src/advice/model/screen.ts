/** Advice on a model as a screen and as a report. */
import {causalLabel} from '../../experiments/labels.js'
import {layersText} from '../../experiments/layers-text.js'
import {interval, unitsOf} from '../../experiments/swap/report/damage.js'
import {modelName} from '../../model/hub.js'
import {type Block, heading, list, table, text} from '../../report/document.js'
import {MISSING, plural} from '../../report/numbers.js'
import {gainOf} from '../report.js'
import {speedText} from '../words.js'
import type {ModelAdvice, ModelCandidate} from './schema.js'

/** Rows and reasons of the first screen. */
const [MOST_ROWS, MOST_REASONS] = [8, 2]

/** At most 20 lines of 80 columns. @param details - every candidate and reason */
export function modelAdviceBlocks(advice: ModelAdvice, details = false): Block[] {
  const {candidates, left_out} = advice
  const shown = details ? candidates : candidates.slice(0, MOST_ROWS)
  const rest = candidates.length - shown.length
  return [
    heading(1, titleOf(advice)),
    text(advice.statement),
    table(columnsOf(advice), shown),
    ...list([
      ...(rest > 0 ? [`${plural(rest, 'row')} more: --details`] : []),
      ...(details ? left_out : left_out.slice(0, MOST_REASONS)),
      ...(details ? [`computed by ${advice.backend}`] : []),
    ]),
  ]
}

/** `Advice on charlm at L=256: 4 layers, 4 heads of 32, causal; loss on 20 texts`. */
export function titleOf(advice: ModelAdvice): string {
  const {model, seq_len, model_layers, heads, head_dim, causal, texts_read} = advice
  const sizes = `${plural(model_layers, 'layer')}, ${plural(heads, 'head')} of ${head_dim}`
  return `Advice on ${modelName(model)} at L=${seq_len}: ${sizes}, ${causalLabel(causal, null)}; loss on ${plural(texts_read, 'text')}`
}

function columnsOf(advice: ModelAdvice) {
  const layersOf = ({layers}: ModelCandidate) =>
    layers.length === 0 ? 'none' : layersText(layers, advice.model_layers).replace(/^layers? /, '')
  return [
    {title: 'method', align: 'left' as const, cell: ({label}: ModelCandidate) => label},
    {title: 'layers', align: 'left' as const, cell: layersOf},
    {
      title: unitsOf(advice.causal).title,
      cell: (row: ModelCandidate) =>
        row.layers.length === 0
          ? MISSING
          : interval({mean: row.loss, low: row.loss_low, high: row.loss_high}),
    },
    {title: 'speed-up of the model', cell: (row: ModelCandidate) => speedText(gainOf(row))},
  ]
}
