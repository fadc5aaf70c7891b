/** What to know of an input before its errors are believed. */
import {layoutWarning} from '../../../inputs/attention-input.js'
import type {CompletedSweep} from '../schema.js'

/**
 * Notes on the input of a section: axes that look exchanged, and keys that are hidden.
 *
 * @param record - any of the section
 */
export function inputNotes({cell, result}: CompletedSweep): string[] {
  return [...exchangedAxes({cell, result}), ...hidden(result)]
}

/** Only of whole files: how many tokens there are beyond those that were asked for is not recorded. */
function exchangedAxes({cell, result}: CellAndResult): string[] {
  const {input, seq_len} = cell
  if (input.kind !== 'file' || seq_len !== null) return []
  const {heads, query_len: queryLen, key_len: keyLen} = result
  const warning = layoutWarning({heads, queryLen, keyLen}, input.layout)
  return warning === undefined ? [] : [warning.replaceAll(/`layout(?:: (\w+))?`/g, asTyped)]
}

/** A setting as it is typed: `--layout blhd`. */
function asTyped(_: string, value?: string): string {
  return value === undefined ? '--layout' : `--layout ${value}`
}

type CellAndResult = Pick<CompletedSweep, 'cell' | 'result'>

/** What a key mask leaves out of errors. */
function hidden({
  batch,
  query_len,
  key_len,
  hidden_keys,
  judged_queries,
}: CompletedSweep['result']) {
  if (hidden_keys === 0) return []
  const keys = `the key mask hides ${hidden_keys} of ${batch * key_len} keys, which take no part`
  if (judged_queries === null || judged_queries === batch * query_len) return [keys]
  return [
    `${keys}; as many queries stand for the same tokens: they are no part of the model's result and count in no number here`,
  ]
}
