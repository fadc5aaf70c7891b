/** One cell: a model with the attention of some layers exchanged, on all texts, for every draw. */
import {useBackend} from '../../../backends/index.js'
import {finiteOrNull} from '../../../stats/index.js'
import {computedBy} from '../../computed-by.js'
import type {CellContext, CellOutcome} from '../../experiment.js'
import {
  featureDimOf,
  type ResolvedMethod,
  resolveMethod,
  unsupportedReason,
  whyNotDrawn,
} from '../../method.js'
import {tunedOf} from '../../tuned-methods.js'
import {layersRun} from '../layers-run.js'
import {type Effects, lossOf, type SwapCell, type SwapResult} from '../schema.js'
import {originalOf} from './context.js'
import {causalEffects, encoderEffects} from './effects.js'
import type {Engine, Exchanged, OnPass, Run} from './engine.js'
import {largestSet} from './largest-set.js'
import {nativeEngine} from './native.js'
import {errorsOf, partsOf} from './parts.js'
import {transformersEngine} from './transformers.js'

export async function runSwapCell(
  cell: SwapCell,
  how: CellContext = {},
): Promise<CellOutcome<SwapResult>> {
  const method = await resolveMethod(cell)
  let done = 0
  const engine = await engineOf(cell, how, passes =>
    how.onStep?.(++done, passes * (1 + cell.replicates)),
  )
  const {facts} = engine
  const reason = reasonAgainst(cell, method, engine)
  if (reason) return {status: 'skipped', reason}
  const own = layersRun(cell, facts.layers) * cell.replicates * engine.batches.length
  const steps = done + own
  const onStep = () => how.onStep?.(++done, steps)
  const run: Run = {cell, tuned: await tunedOf(cell), onStep}
  return {
    status: 'completed',
    result: {
      ...engine.result,
      model_kind: facts.kind,
      model_layers: facts.layers,
      heads: facts.heads,
      head_dim: facts.headDim,
      feature_dim: featureDimOf(method, cell, facts.headDim),
      texts_read: engine.texts,
      tokens_read: engine.tokens,
      texts_left_out: engine.leftOut,
      pooled_by: engine.pooledBy,
      ...(cell.budget === undefined
        ? {...(await effectsOf(engine, run)), chosen_layers: null, tried_sets: []}
        : await withinBudget(engine, run, cell.budget)),
    },
  }
}

/** The engine of a cell, with the original on its texts, kept for the next cells. */
async function engineOf(cell: SwapCell, how: CellContext, onPass: OnPass): Promise<Engine> {
  if (cell.engine) return transformersEngine(cell, how, onPass)
  const backend = await useBackend(cell.backend, {threadShare: how.threadShare})
  return nativeEngine(await originalOf(cell, onPass), computedBy(backend, how))
}

/** What exchanged layers do. */
type Measured = Effects & Pick<SwapResult, 'hidden_error' | 'attention_errors' | 'parts'>

/** The layers of a cell, exchanged all at once. */
async function effectsOf(engine: Engine, run: Run): Promise<Measured> {
  const found = await engine.exchanged(run)
  const {hidden, attention} = found
  const {damage, tokens, ...effects} = effectsOn(engine, found)
  return {
    ...effects,
    hidden_error: hidden.map(squares => finiteOrNull(squares ? squares.relative() : 0)),
    attention_errors: errorsOf(attention),
    parts: partsOf({damage, tokens, hidden, attention}),
  }
}

/** What they do to predictions or embeddings. */
function effectsOn(
  engine: Engine,
  {predictions, embeddings = [], distances, sameClass}: Exchanged,
) {
  return predictions
    ? causalEffects(engine, engine.facts, {distances, predictions})
    : encoderEffects(engine, engine.embeddings(), {distances, embeddings, sameClass})
}

/** The largest set of its layers found that keeps a budget; of every set the same draws in each layer. */
async function withinBudget(
  engine: Engine,
  run: Run,
  budget: number,
): Promise<Measured & Pick<SwapResult, 'chosen_layers' | 'tried_sets'>> {
  const {cell} = run
  const measured = new Map<string, Measured>()
  const {chosen, tried} = await largestSet(cell.layers, budget, async set => {
    const own = await effectsOf(engine, {...run, cell: {...cell, layers: set}})
    measured.set(set.join(), own)
    return lossOf(own)
  })
  const own =
    measured.get(chosen.join()) ??
    (await effectsOf(engine, {...run, cell: {...cell, layers: []}, onStep: undefined}))
  return {...own, chosen_layers: chosen, tried_sets: tried}
}

function reasonAgainst(cell: SwapCell, method: ResolvedMethod, engine: Engine): string | undefined {
  const {facts, batches} = engine
  const masked = batches.some(({tokens}) => tokens.lengths.some(own => own < tokens.length))
  const form = {causal: facts.causal, cross: false, masked: masked && !facts.causal}
  const reason = unsupportedReason(method, form) ?? whyNotDrawn(cell, facts.headDim)
  return reason ?? engine.refuses(cell)
}
