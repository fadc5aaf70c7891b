/** One cell for each layer. */
import {meteredBackend} from '../../backends/index.js'
import {inputFacts} from '../../inputs/input-facts.js'
import {inputParts} from '../axes.js'
import type {Grid, PredictedCell} from '../experiment.js'
import {runtimeBytes} from '../process-memory.js'
import type {InputsCell, InputsPlan} from './schema.js'

export async function inputsGrid(plan: InputsPlan): Promise<Grid<InputsCell>> {
  const {experiment: _, layers: __, layer_files: ___, ...shared} = plan
  const cells = inputParts(plan).map(
    ({input, layer}): InputsCell => ({...(layer !== undefined && {layer}), ...shared, input}),
  )
  return {count: cells.length, cells: () => cells, jobs: () => Promise.all(cells.map(predicted))}
}

async function predicted(cell: InputsCell): Promise<PredictedCell<InputsCell>> {
  const {input, layer, backend} = cell
  const {sizes, loadingBytes} = await inputFacts(input, [null], {layer})
  const {batch, heads, queryLen, keyLen, headDim} = sizes[0]!
  return {
    cell,
    label: layer === undefined ? 'heads' : `heads of layer ${layer}`,
    predictedCost: 2 * batch * heads * queryLen * keyLen * headDim,
    predictedBytes: runtimeBytes(await meteredBackend(backend)) + loadingBytes,
  }
}
