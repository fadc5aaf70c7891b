import {messageOf, RfaError} from '../errors.js'
import type {CellContext, CellOutcome} from '../experiments/experiment.js'
import type {CellError} from '../results/record.js'

/** What a worker is told: run this cell. */
export interface WorkerRequest {
  /** Given back in the reply. */
  id: number
  /** Name of the experiment that the cell is of. */
  experiment: string
  cell: object
  context: CellContext
}

/** What a worker answers: how the cell ended, or the error it threw. */
export type WorkerReply = {id: number; outcome: CellOutcome} | {id: number; error: CellError}

/**
 * Runs the cell of a request; never throws.
 *
 * @param run - computes it
 * @returns the reply to send; errors that are not RfaErrors have the code `CELL_CRASHED`
 */
export async function answer(
  request: WorkerRequest,
  run: (request: WorkerRequest) => Promise<CellOutcome>,
): Promise<WorkerReply> {
  const {id} = request
  try {
    return {id, outcome: await run(request)}
  } catch (error) {
    const code = error instanceof RfaError ? error.code : 'CELL_CRASHED'
    return {id, error: {code, message: messageOf(error)}}
  }
}
