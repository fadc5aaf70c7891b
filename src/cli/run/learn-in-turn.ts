/** `rfa tune --sequential`: every layer learns on what the layers before it make of the texts, exchanged by what they learned. */
import {access, rm} from 'node:fs/promises'
import {join} from 'node:path'
import {expected} from '../../errors.js'
import {drawnAttention} from '../../experiments/swap/measure/native.js'
import {saveTuned, tunedFileOf} from '../../experiments/tune/save.js'
import type {TunePlan, TuneRecord} from '../../experiments/tune/schema.js'
import type {ExportRequest} from '../../export/record.js'
import {pinInput} from '../../inputs/digest.js'
import {tunedCall} from '../../tuned/call.js'
import {hasLearnedRows, readTuned} from '../../tuned/index.js'
import type {Invocation} from '../program/services.js'
import type {OwnRun, OwnRuns} from './own-folder-run.js'

export interface InTurn {
  request: ExportRequest
  layers: number
  /** The plan of what is learned from files. */
  planOf(paths: string[]): TunePlan
  runName(layer: number): string
  runs: OwnRuns
  own: Omit<OwnRun, 'name'>
  services: Pick<Invocation['services'], 'exportLayers'>
  /** @throws where a layer did not learn */
  requireLearned(records: readonly TuneRecord[]): void
}

/**
 * Layer by layer: with learned random vectors a copy of the model for each draw, else one with the draws in turn.
 *
 * @throws {PLAN_MISMATCH} where the folder has layers that learned by themselves
 */
export async function learnInTurn(asked: InTurn): Promise<TuneRecord[]> {
  const {request, layers, planOf, runName, runs, own, services, requireLearned} = asked
  const {directory} = own
  await refuseOtherWay(directory)
  const all: TuneRecord[] = []
  const {learn, draws} = planOf([])
  const copies = hasLearnedRows({learned: learn}) ? draws : 1
  const exchange = async ({layer, path}: {layer: number; path: string}, inputs: string) => {
    const original = await pinInput(planOf([path]).input, layer)
    const plan: TunePlan = {...planOf([inputs]), layers: [layer], original}
    const name = runName(layer)
    const records = await runs.recordsOf<TuneRecord>(plan, {...own, name})
    requireLearned(records)
    all.push(...records)
    const folder = join(directory, name)
    await saveTuned(records, folder)
    const tuned = await readTuned(tunedFileOf(folder))
    await rm(tunedFileOf(folder))
    const {cell} = records[0]!
    return (copy: number, batch: number) => {
      const draw = copies > 1 ? copy : batch % cell.draws
      return drawnAttention(cell, draw * layers + layer, tunedCall(tuned, layer, draw))
    }
  }
  await services.exportLayers(request, {inTurn: {copies, exchange}})
  return all
}

async function refuseOtherWay(directory: string): Promise<void> {
  const found = await access(join(directory, 'learn', 'manifest.json')).then(
    () => true,
    () => false,
  )
  if (!found) return
  const got = 'one of layers that learned by themselves'
  const remedies = ['leave --sequential out', 'or choose another --output']
  throw expected('PLAN_MISMATCH', directory, 'a run of --sequential', got, ...remedies)
}
