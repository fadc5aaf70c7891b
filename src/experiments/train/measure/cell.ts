import {lookAgain} from '../../../attention/internal.js'
import {useBackend} from '../../../backends/index.js'
import {optimiserOf, type SmallModel, startWeights} from '../../../model/trained/index.js'
import type {Task} from '../../../tasks/index.js'
import {registerGradients} from '../../../tf.js'
import {computedBy} from '../../computed-by.js'
import type {CellContext, CellOutcome} from '../../experiment.js'
import {missingGradient} from '../../gradients.js'
import {resolveMethod, unsupportedReason, whyNotDrawn} from '../../method.js'
import type {TrainCell, TrainResult} from '../schema.js'
import {cellAttention, stateSize} from './attention.js'
import {openTask} from './task.js'
import {train} from './train.js'

export async function runTrainCell(
  cell: TrainCell,
  how: CellContext = {},
): Promise<CellOutcome<TrainResult>> {
  const backend = await useBackend(cell.backend, {threadShare: how.threadShare})
  const method = await resolveMethod(cell)
  const {estimator, options} = method
  const reason =
    unsupportedReason(method, {causal: true, cross: false}) ?? whyNotDrawn(cell, cell.key_dim)
  if (reason) return {status: 'skipped', reason}
  await registerGradients()
  const task = await openTask(cell.task, cell.seed)
  const model = modelOf(cell, task, estimator.takesGate ?? false)
  const weights = startWeights(model, cell.seed, cell.run)
  const optimiser = optimiserOf(weights)
  const attention = cellAttention(cell)
  const learner = {model, weight: optimiser.weight, attend: attention.attend}
  try {
    const state = stateSize(cell, method)
    // features of zeros may be finite where those of tokens are not
    lookAgain()
    const {onStep, checkpoint} = how
    const trained = await train({cell, task, learner, optimiser, attention, onStep, checkpoint})
    return {
      status: 'completed',
      result: {
        ...computedBy(backend, how),
        vocabulary: task.vocabulary,
        weights: weights.reduce((sum, {values}) => sum + values.length, 0),
        feature_dim: estimator.featureDim(cell.num_features ?? 0, cell.key_dim, options),
        ...state,
        ...trained,
        ...plateauOf(task, trained.test.accuracy),
      },
    }
  } catch (error) {
    throw missingGradient(error, cell.method, 'queries, keys and values')
  } finally {
    optimiser.dispose()
    attention.dispose()
  }
}

function modelOf({model, key_dim: headDim}: TrainCell, task: Task, gated: boolean): SmallModel {
  return {...model, headDim, gated, vocabulary: task.vocabulary, length: task.length}
}

/** Part of the way from the plateau to 1 beyond which a run has left it. */
const LEFT = 0.25

function plateauOf(
  {plateau}: Task,
  accuracy: number | null,
): Pick<TrainResult, 'plateau' | 'left_plateau'> {
  if (plateau === null) return {plateau, left_plateau: null}
  return {plateau, left_plateau: (accuracy ?? 0) > plateau + LEFT * (1 - plateau)}
}
