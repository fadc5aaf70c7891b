/** Advice on a model in sentences. */
import {YARDSTICK} from '../../experiments/error-sweep/report/ranking.js'
import {layersText} from '../../experiments/swap/layers-text.js'
import {nanoseconds, significant} from '../../report/numbers.js'
import {gainOf} from '../report.js'
import {speedText} from '../words.js'
import type {ModelAdvice, ModelCandidate} from './schema.js'

type Stated = Omit<ModelAdvice, 'statement'>

/** What to exchange, or why nothing. */
export function modelStatement(advice: Stated): string {
  const {candidates, candidate, obstacle} = advice
  const average = candidates.find(({method}) => method === YARDSTICK)
  const taken = candidates.find(({label}) => label === candidate)
  const sentences = taken
    ? [takenText(taken, advice), againstAverage(taken, average, advice)]
    : [keptText(advice), obstacle === 'time' ? slowText(advice) : lossText(advice)]
  return sentences.filter(sentence => sentence !== '').join(' ')
}

/** `Exchange attention in layers 0 to 3 by favor-pos orth M=256: 0.3 % more nats per token [0.1, 0.5], 2.1x [1.8, 2.4] as fast in these layers at 8192 tokens.` */
function takenText(taken: ModelCandidate, advice: Stated): string {
  const where = layersText(taken.layers, advice.model_layers)
  const these = taken.layers.length === 1 ? 'this layer' : 'these layers'
  return `Exchange attention in ${where} by ${nameOf(taken)}: ${lossWords(taken, advice)}, ${speedText(gainOf(taken))} as fast as ${advice.exact.form} in ${these} at ${advice.seq_len} tokens.`
}

/** What averaging V would do within the same budget. */
function againstAverage(
  taken: ModelCandidate,
  average: ModelCandidate | undefined,
  {model_layers}: Stated,
): string {
  if (!average || taken === average) return ''
  const layers = average.layers.length
  if (layers === 0) return 'Averaging V keeps the budget in no layer.'
  return `Averaging V keeps the budget in ${layers} of ${model_layers} layers.`
}

function keptText({exact, seq_len}: Stated): string {
  return `Keep exact attention (${exact.form}, ${nanoseconds(exact.time_ns)} a layer at ${seq_len} tokens).`
}

function lossText(advice: Stated): string {
  const [least] = advice.candidates
    .filter(({method, least_loss}) => method !== YARDSTICK && least_loss !== null)
    .toSorted((a, b) => a.least_loss! - b.least_loss!)
  const none = `No method keeps the budget of ${budgetText(advice)} in any layer`
  if (!least) return `${none}.`
  const {least_layer, least_loss: loss, least_loss_low, least_loss_high} = least
  const lost = lossWords({loss, loss_low: least_loss_low, loss_high: least_loss_high}, advice)
  return `${none}: ${least.label} in layer ${least_layer} loses least, ${lost}.`
}

function slowText({candidates, seq_len, model_layers}: Stated): string {
  const [best] = candidates.filter(({layers}) => layers.length > 0)
  if (!best) return ''
  return `${nameOf(best)} keeps the budget in ${layersText(best.layers, model_layers)}, but is not faster for certain at ${seq_len} tokens: ${speedText(gainOf(best))}.`
}

function nameOf({label, method}: ModelCandidate): string {
  return method === YARDSTICK ? `${label} (averaging V)` : label
}

/** `0.02 nats per token`. */
function budgetText({budget, causal}: Stated): string {
  return `${budget} ${causal ? 'nats per token' : 'of cosine'}`
}

/** `0.3 % more nats per token [0.1, 0.5]`, or `0.012 of cosine lost [0.01, 0.014]`. */
function lossWords(row: Loss, advice: Pick<Stated, 'original_nats'>): string {
  const unit = advice.original_nats === null ? 'of cosine lost' : 'more nats per token'
  const [number, ...ends] = lossNumbers(row, advice)
  return [number, unit, ...ends].join(' ')
}
type Loss = Pick<ModelCandidate, 'loss' | 'loss_low' | 'loss_high'>

/** Nats in per cent of those that the original takes, or 1 - cosine; the interval, where there is one. */
export function lossNumbers(
  {loss, loss_low, loss_high}: Loss,
  {original_nats}: Pick<Stated, 'original_nats'>,
): string[] {
  const scale = original_nats === null ? 1 : 100 / original_nats
  const number = (value: number | null) => significant(value === null ? null : scale * value, 2)
  const middle = `${number(loss)}${original_nats === null ? '' : ' %'}`
  if (loss_low === null || loss_high === null) return [middle]
  return [middle, `[${number(loss_low)}, ${number(loss_high)}]`]
}
