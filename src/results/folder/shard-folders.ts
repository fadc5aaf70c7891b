/** Whether shards are parts of one run. */
import {realpath} from 'node:fs/promises'
import {expected} from '../../errors.js'
import {packageVersion} from '../../package.js'
import {pluginDigest} from '../../plugins/record.js'
import {canonicalJson} from '../keys.js'
import type {Plan, StoredExperiment} from '../record.js'
import type {RunManifest} from './manifest.js'
import {changesText, differences, ownerOf} from './resume.js'
import {originFields, type SavedRun} from './run-directory.js'
import {type ShardOfRun, shardText} from './shard.js'

export interface SavedShard extends SavedRun {
  /** As it was named. */
  directory: string
  manifest: RunManifest & {shard: ShardOfRun}
}

/** @throws {USAGE} for a folder that is named twice, be it by two names */
export async function requireDistinct(directories: readonly string[]): Promise<void> {
  const seen = new Map<string, string>()
  for (const directory of directories) {
    const path = await realpath(directory).catch(() => directory)
    const before = seen.get(path)
    if (before !== undefined) {
      const got =
        before === directory ? `${directory} twice` : `${before} and ${directory}, the same`
      throw expected('USAGE', 'merge', 'each folder once', got, 'leave one of them out')
    }
    seen.set(path, directory)
  }
}

/** A run that is a part of its plan. @throws {PLAN_MISMATCH} for any other */
export function asShard(directory: string, {manifest, records}: SavedRun): SavedShard {
  const {shard} = manifest
  if (shard) return {directory, manifest: {...manifest, shard}, records}
  const got = manifest.merged ? 'one that was merged already' : 'one of a whole plan'
  const remedy = 'name folders that were made with --shard'
  throw expected('PLAN_MISMATCH', directory, 'a shard of a run', got, remedy)
}

/**
 * Holds shards against the first of them.
 *
 * @param experiments - that of the plan among them
 * @throws {PLAN_MISMATCH} where plan, number of shards, version or, for times to be compared, processor differ, and for
 *   two of the same number
 */
export function requireOneRun(
  shards: readonly SavedShard[],
  experiments: readonly StoredExperiment[],
): void {
  const [first, ...others] = shards
  if (!first) return
  requireOwnVersion(first)
  for (const other of others) requireAlike(first, other, experiments)
  const byIndex = new Map<number, string>()
  for (const shard of shards) {
    const {index} = shard.manifest.shard
    const before = byIndex.get(index)
    if (before !== undefined) {
      const what = `each shard once, with shard ${shardText(shard.manifest.shard)} from ${before}`
      throw unlike(shard.directory, what, 'the same shard again', 'leave one of them out')
    }
    byIndex.set(index, shard.directory)
  }
}

/** Keys of cells have the version in them. */
function requireOwnVersion({directory, manifest}: SavedShard): void {
  const {rfa} = manifest.machine
  if (rfa === packageVersion()) return
  const remedy = `merge with rfa ${rfa}`
  throw unlike(directory, `a shard made by this version of rfa, ${packageVersion()}`, rfa, remedy)
}

function requireAlike(
  first: SavedShard,
  other: SavedShard,
  experiments: readonly StoredExperiment[],
): void {
  const {plan, shard, machine} = first.manifest
  const {directory, manifest} = other
  requireOwnVersion(other)
  if (shard.count !== manifest.shard.count) {
    const got = `one of ${manifest.shard.count}`
    throw unlike(directory, `a shard of ${shard.count}, as ${first.directory} is`, got)
  }
  const experiment = ownerOf(plan, experiments)
  const changes = differences(comparable(plan), comparable(manifest.plan))
  if (changes.length > 0) {
    const remedy = 'merge shards of one plan alone'
    throw unlike(
      directory,
      `the plan of ${first.directory}`,
      changesText(changes, experiment),
      remedy,
    )
  }
  for (const field of originFields(experiment, plan)) {
    if (machine[field] === manifest.machine[field]) continue
    const what = `${field} ${machine[field] ?? 'none'}, as in ${first.directory}`
    const remedy = 'times of several kinds of machines are not one run: run all shards on one kind'
    throw unlike(directory, what, String(manifest.machine[field] ?? 'none'), remedy)
  }
}

/** A plan without paths of plug-ins, which may stand elsewhere on other machines. */
function comparable({plugins, ...plan}: Plan): object {
  return plugins ? {...plan, plugins: plugins.map(pluginDigest)} : plan
}

function unlike(where: string, what: string, got: string, ...remedies: string[]) {
  return expected('PLAN_MISMATCH', where, what, got, ...remedies)
}

/** Machines with the numbers of the shards that were made there. */
export function machinesOf(shards: readonly SavedShard[]): NonNullable<RunManifest['merged']> {
  const groups = new Map<string, {shards: number[]; machine: RunManifest['machine']}>()
  for (const {manifest} of shards) {
    const {shard, machine} = manifest
    const name = canonicalJson(machine)
    const group = groups.get(name) ?? {shards: [], machine}
    group.shards.push(shard.index)
    groups.set(name, group)
  }
  return [...groups.values()]
}
