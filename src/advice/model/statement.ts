/** Advice on a model in sentences. */
import {YARDSTICK} from '../../experiments/error-sweep/report/ranking.js'
import {layersText} from '../../experiments/layers-text.js'
import {nanoseconds, plural, significant} from '../../report/numbers.js'
import {capital, gainOf} from '../report.js'
import {speedText} from '../words.js'
import type {ModelAdvice, ModelCandidate} from './schema.js'

type Stated = Omit<ModelAdvice, 'statement'>

/**
 * What to exchange, or why nothing; then what averaging V does, and what any method could gain.
 *
 * @param share - how much of the model's time is attention
 */
export function modelStatement(advice: Stated, share: string): string {
  const {candidates, candidate, obstacle} = advice
  const taken = candidates.find(({label}) => label === candidate)
  const answer = taken
    ? [takenText(taken, advice)]
    : [
        ...(obstacle === 'busy' ? [] : [keptText(advice)]),
        ...(obstacle ? [WHY[obstacle](advice)] : []),
      ]
  const average = obstacle === 'guess' ? [] : averageText(advice)
  return [...answer, ...average, share].join(' ')
}

/** `Exchange attention in layers 0 to 3 by favor-pos orth M=256: 0.3 % more nats per token [0.1, 0.5] on 20 texts (812 tokens). The model is 1.21x [1.18, 1.24] as fast at 256 tokens.` */
function takenText(taken: ModelCandidate, advice: Stated): string {
  const {texts_read: texts, tokens_read: tokens, seq_len} = advice
  const where = layersText(taken.layers, advice.model_layers)
  const read = `${plural(texts, 'text')} (${plural(tokens, 'token')})`
  return `Exchange attention in ${where} by ${taken.label}: ${lossWords(taken, advice)} on ${read}. The model is ${speedText(gainOf(taken))} as fast at ${seq_len} tokens.`
}

/** The layers in which averaging V keeps the budget: a yardstick is no advice, but says that attention hardly matters there. */
function averageText(advice: Stated): string[] {
  const average = advice.candidates.find(({method}) => method === YARDSTICK)
  if (!average) return []
  if (average.layers.length === 0) return ['Averaging V keeps the budget in no layer.']
  const where = layersText(average.layers, advice.model_layers)
  const [use, their] = average.layers.length === 1 ? ['uses', 'its'] : ['use', 'their']
  const cost = lossWords(average, advice)
  return [
    `${capital(where)} hardly ${use} ${their} attention: averaging V in place of it costs ${cost}.`,
  ]
}

function keptText({exact, seq_len}: Stated): string {
  return `Keep exact attention (the model takes ${nanoseconds(exact.time_ns)} for ${seq_len} tokens).`
}

const WHY: Record<NonNullable<Stated['obstacle']>, (advice: Stated) => string> = {
  guess: ({original_nats, guessing_nats}) =>
    `The model guesses on these texts (${significant(original_nats)} nats per token, equal chances ${significant(guessing_nats)}), so that losses say nothing: take texts of the kind that it was trained on.`,
  budget: lossText,
  busy: busyText,
  average: () => 'Methods keep the budget only where averaging V does, too.',
  time: slowText,
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

/** Nothing is advised on times that are not known. */
function busyText(advice: Stated): string {
  const {candidates, seq_len, model_layers} = advice
  const keeping = candidates.find(({gain}) => gain !== null)!
  return `No verdict: the machine was too busy to time the model at ${seq_len} tokens. ${keeping.label} keeps the budget in ${layersText(keeping.layers, model_layers)}: ${lossWords(keeping, advice)}.`
}

function slowText({candidates, seq_len, model_layers}: Stated): string {
  const best = candidates.find(({gain}) => gain !== null)!
  return `${best.label} keeps the budget in ${layersText(best.layers, model_layers)}, but the model is not faster for certain at ${seq_len} tokens: ${speedText(gainOf(best))}.`
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
