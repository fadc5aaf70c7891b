/** Advice on a model in sentences. */
import {YARDSTICK} from '../../experiments/averaging.js'
import {layersText} from '../../experiments/layers-text.js'
import {damageText, unitsOf} from '../../experiments/swap/report/damage.js'
import {nanoseconds, plural, significant} from '../../report/numbers.js'
import {capital} from '../../report/words.js'
import {gainOf} from '../report.js'
import {notFasterText, speedText} from '../words.js'
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
        ...(obstacle === 'untimed' ? [] : [keptText(advice)]),
        ...(obstacle ? [WHY[obstacle](advice)] : []),
      ]
  const average = obstacle === 'guess' ? [] : averageText(advice)
  return [...answer, ...average, share].join(' ')
}

/** `Exchange attention in layers 0 to 3 by favor-pos orth M=256: it loses 0.012 nats per token [0.01, 0.014] on 20 texts (812 tokens). The model is 1.21x [1.18, 1.24] as fast at 256 tokens.` */
function takenText(taken: ModelCandidate, advice: Stated): string {
  const {texts_read: texts, tokens_read: tokens, seq_len} = advice
  const where = layersText(taken.layers, advice.model_layers)
  const read = `${plural(texts, 'text')} (${plural(tokens, 'token')})`
  return `Exchange attention in ${where} by ${taken.label}: it loses ${lossText(taken, advice)} on ${read}. The model is ${speedText(gainOf(taken))} as fast at ${seq_len} tokens.`
}

/** The layers in which averaging V keeps the budget: a yardstick is no advice, but says that attention hardly matters there. */
function averageText(advice: Stated): string[] {
  const average = advice.candidates.find(({method}) => method === YARDSTICK)
  if (!average) return []
  if (average.layers.length === 0) return ['Averaging V keeps the budget in no layer.']
  const where = layersText(average.layers, advice.model_layers)
  const [use, their] = average.layers.length === 1 ? ['uses', 'its'] : ['use', 'their']
  const cost = lossText(average, advice)
  return [
    `${capital(where)} hardly ${use} ${their} attention: averaging V in place of it loses ${cost}.`,
  ]
}

function keptText({exact, seq_len}: Stated): string {
  return `Keep exact attention (the model takes ${nanoseconds(exact.time_ns)} for ${seq_len} tokens).`
}

const WHY: Record<NonNullable<Stated['obstacle']>, (advice: Stated) => string> = {
  guess: ({original_nats, guessing_nats}) =>
    `The model guesses on these texts (${significant(original_nats)} nats per token, equal chances ${significant(guessing_nats)}), so that losses say nothing: take texts of the kind that it was trained on.`,
  budget: nowhereText,
  untimed: untimedText,
  average: () => 'Methods keep the budget only where averaging V does, too.',
  time: slowText,
}

function nowhereText(advice: Stated): string {
  const [least] = advice.candidates
    .filter(({method, least_loss}) => method !== YARDSTICK && least_loss !== null)
    .toSorted((a, b) => a.least_loss! - b.least_loss!)
  const none = `No method keeps the budget of ${budgetText(advice)} in any layer`
  if (!least) return `${none}.`
  const {least_layer, least_loss: loss, least_loss_low, least_loss_high} = least
  const lost = lossText({loss, loss_low: least_loss_low, loss_high: least_loss_high}, advice)
  return `${none}: ${least.label} in layer ${least_layer} loses least, ${lost}.`
}

/** Nothing is advised on times that are not known. */
function untimedText(advice: Stated): string {
  const {candidates, seq_len, model_layers} = advice
  const keeping = candidates.filter(({method, layers}) => method !== YARDSTICK && layers.length > 0)
  const timed = keeping.find(({gain}) => gain !== null)
  const [best] = timed ? [timed] : keeping
  const why = timed
    ? `the machine was too busy to time the model at ${seq_len} tokens`
    : 'nothing that keeps the budget was timed'
  return `No verdict: ${why}. ${best!.label} loses ${lossText(best!, advice)} in ${layersText(best!.layers, model_layers)}, within the budget.`
}

function slowText({candidates, seq_len, model_layers}: Stated): string {
  const best = candidates.find(({gain}) => gain !== null)!
  const gain = gainOf(best)
  return `${best.label} keeps the budget in ${layersText(best.layers, model_layers)}, but the model is ${notFasterText(gain)} at ${seq_len} tokens: ${speedText(gain)} as fast.`
}

/** `0.02 nats per token`. */
function budgetText({budget, causal}: Stated): string {
  return `${budget} ${unitsOf(causal).unit}`
}

/** `0.12 nats per token [0.10, 0.14]`, or `0.012 of cosine [0.01, 0.014]`. */
function lossText({loss, loss_low, loss_high}: Loss, {causal}: Pick<Stated, 'causal'>): string {
  return damageText({mean: loss, low: loss_low, high: loss_high}, causal)
}
type Loss = Pick<ModelCandidate, 'loss' | 'loss_low' | 'loss_high'>
