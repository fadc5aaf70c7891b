/** One layer: what is learned of it, and how much that helps on held-out tokens. */
import {tf} from '../../../attention/index.js'
import {projectionTensor} from '../../../attention/internal.js'
import {useBackend} from '../../../backends/index.js'
import {RfaError} from '../../../errors.js'
import {sizesOf} from '../../../inputs/attention-input.js'
import {originOf} from '../../../inputs/input-parts.js'
import {loadInput} from '../../../inputs/load.js'
import {mean} from '../../../stats/index.js'
import {registerGradients} from '../../../tf.js'
import {type HeadSizes, hasLearnedRows} from '../../../tuned/index.js'
import {attendOptions, drawOf, viewOf} from '../../axes.js'
import {computedBy} from '../../computed-by.js'
import type {CellContext, CellOutcome} from '../../experiment.js'
import {missingGradient} from '../../gradients.js'
import {featureDimOf, resolveMethod, unsupportedReason, whyNotDrawn} from '../../method.js'
import type {TuneCell, TuneResult} from '../schema.js'
import {stepTexts} from '../step-texts.js'
import {type Lesson, learn, WithoutEffect} from './learn.js'
import {learnedArrays, startOf} from './parameters.js'
import {type Problem, problemOf} from './problem.js'
import {countsOf, type LayerInput, type Split, someTexts, splitInput} from './split.js'
import {drawsOf, errorsOf, lossOf, rowsLossOf, stepOptions} from './task.js'
import {variantErrors} from './variants.js'

export async function runTuneCell(
  cell: TuneCell,
  how: CellContext = {},
): Promise<CellOutcome<TuneResult>> {
  const backend = await useBackend(cell.backend, {threadShare: how.threadShare})
  const method = await resolveMethod(cell)
  const {input: spec, layer, logit_scale: logitScale, seed} = cell
  const part = {seqLen: null, seed, extras: false, layer, logitScale}
  const original = cell.original && (await loadInput(cell.original, part))
  const input = ofDraw({...(await loadInput(spec, part)), original}, cell)
  const {heads, queryLen, keyLen, headDim, valueDim} = sizesOf(input)
  const view = viewOf(cell)
  const form = {
    causal: view.causal,
    cross: queryLen !== keyLen,
    masked: input.keyMask !== undefined,
  }
  const reason = unsupportedReason(method, form) ?? whyNotDrawn(cell, headDim)
  if (reason) return {status: 'skipped', reason}
  await registerGradients()
  const split = splitInput(input, cell.held_out, view)
  const sizes = {heads, keyHeads: input.keyHeads ?? heads, headDim}
  const scale = logitScale ?? input.logitScale ?? headDim ** -0.5
  const {lesson, ...measured} = await lessonOf({cell, split, sizes, scale, how})
  const [learned, heldOut] = [split.learned, split.heldOut].map(countsOf)
  return {
    status: 'completed',
    result: {
      ...computedBy(backend, how),
      ...{heads, head_dim: headDim, value_dim: valueDim, key_heads: sizes.keyHeads},
      feature_dim: featureDimOf(method, cell, headDim),
      logit_scale: scale,
      input_origin: await originOf(spec),
      held_out_by: split.by,
      ...{learned_texts: learned!.texts, learned_tokens: learned!.tokens},
      ...{held_out_texts: heldOut!.texts, held_out_tokens: heldOut!.tokens},
      ...lesson,
      ...measured,
    },
  }
}

/** Of texts that are there for each draw those of one. */
function ofDraw({original, ...input}: LayerInput, {draw}: TuneCell): LayerInput {
  if (!original) return input
  const {batch} = sizesOf(original)
  const first = batch * (draw ?? 0)
  const texts = Array.from({length: batch}, (_, at) => first + at)
  return {...someTexts(input, texts), original}
}

/** What a layer is learned with. */
interface Layer {
  cell: TuneCell
  split: Split
  sizes: HeadSizes
  /** beta */
  scale: number
  how: CellContext
}

/** Learns, and measures what was learned. */
async function lessonOf({cell, split, sizes, scale, how}: Layer) {
  const problem = (input: LayerInput) => problemOf(input, scale, viewOf(cell))
  const turns = turnsOf(split.learned, cell).map(problem)
  const heldOut = problem(split.heldOut)
  const held = cell.loss === 'rows' ? turnsOf(split.heldOut, cell).map(problem) : []
  const begin = performance.now()
  try {
    const {parameters, ...lesson} = await learnCell(cell, {turns, heldOut, held, sizes, how})
    const seconds = (performance.now() - begin) / 1000
    const measured = {cell, sizes, learned: turns[0]!, heldOut, parameters}
    const errors = await variantErrors(measured, lesson.stopped === 'interrupted')
    const arrays = learnedArrays(parameters, sizes)
    tf.dispose(parameters as tf.NamedTensorMap)
    const total = heldOut.textNorms.reduce((sum, norm) => sum + norm, 0)
    const text_weights = Array.from(heldOut.textNorms, norm => norm / total)
    return {lesson, seconds, errors, text_weights, parameters: arrays}
  } finally {
    for (const each of [...turns, ...held, heldOut]) each.dispose()
  }
}

/** Texts that fit into a step; where they are too many for one, parts of them that take turns, neighbours in different ones. */
function turnsOf(input: LayerInput, {loss}: Pick<TuneCell, 'loss'>): LayerInput[] {
  const {batch, ...sizes} = sizesOf(input)
  const count = Math.ceil(batch / stepTexts(sizes, loss))
  if (count === 1) return [input]
  const texts = Array.from({length: batch}, (_, at) => at)
  return Array.from({length: count}, (_, turn) =>
    someTexts(
      input,
      texts.filter(at => at % count === turn),
    ),
  )
}

interface Problems {
  turns: readonly Problem[]
  heldOut: Problem
  /** The same in parts, where rows are learned for. */
  held: readonly Problem[]
  sizes: HeadSizes
  how: CellContext
}

/** @throws {UNSUPPORTED} where the method has no gradient by what is to be learned */
async function learnCell(
  cell: TuneCell,
  {turns, heldOut, held, sizes, how}: Problems,
): Promise<Lesson> {
  const {loss} = cell
  const fixed = drawsOf(cell).map(draw => attendOptions(cell, draw))
  try {
    return await learn({
      start: startOf(cell, sizes, drawnRows(cell, sizes)),
      loss: (parameters, step) =>
        lossOf(turns[step % turns.length]!, stepOptions(cell, step), parameters, loss),
      heldOut: parameters =>
        mean(
          fixed.flatMap(options =>
            loss === 'rows'
              ? rowsLossOf(held, options, parameters)
              : [...errorsOf(heldOut, options, parameters)],
          ),
        ),
      ...(loss === 'rows' && {inCurve: nats => nats}),
      steps: cell.steps,
      learningRate: cell.learning_rate,
      goesOn: async step => {
        how.onStep?.(step, cell.steps)
        return (await how.yieldTurn?.()) !== 'none'
      },
    })
  } catch (error) {
    throw withoutGradient(error, cell)
  }
}

function drawnRows(cell: TuneCell, {heads, headDim}: HeadSizes): tf.Tensor | undefined {
  const {projection, num_features, draw} = cell
  if (!hasLearnedRows({learned: cell.learn}) || projection === null) return undefined
  const drawn = {name: projection, heads, numFeatures: num_features!, headDim}
  return projectionTensor({...drawn, ...drawOf(cell, draw ?? 0)})
}

/** An error of learning in words of the method. */
export function withoutGradient(error: unknown, {method, learn: what}: TuneCell): unknown {
  if (error instanceof WithoutEffect) {
    const own = `${method}: expected outputs that depend on ${what}, got gradients of zero`
    return new RfaError('UNSUPPORTED', own, {suggestions: ['learn something else with `learn`']})
  }
  return missingGradient(error, method, what)
}
