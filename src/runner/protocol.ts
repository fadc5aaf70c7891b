import {messageOf, RfaError} from '../errors.js'
import type {CellOutcome, Job} from '../experiments/job.js'

/** What a worker is told: run this cell. */
export interface WorkerRequest {
  /** Given back in the reply. */
  id: number
  job: Pick<Job, 'key' | 'schema' | 'cell'>
}

/** Why a cell failed, as records hold it. */
export interface CellError {
  code: string
  message: string
}

/** What a worker answers: how the cell ended, or the error it threw. */
export type WorkerReply = {id: number; outcome: CellOutcome} | {id: number; error: CellError}

/**
 * Runs the cell of a request; never throws.
 *
 * @param runCell - computes a cell
 * @returns the reply to send; errors that are not RfaErrors have the code `CELL_CRASHED`
 */
export async function answer(
  {id, job}: WorkerRequest,
  runCell: (schema: string, cell: Job['cell']) => Promise<CellOutcome>,
): Promise<WorkerReply> {
  try {
    return {id, outcome: await runCell(job.schema, job.cell)}
  } catch (error) {
    const code = error instanceof RfaError ? error.code : 'CELL_CRASHED'
    return {id, error: {code, message: messageOf(error)}}
  }
}
