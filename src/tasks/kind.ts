/** What a kind of task brings: everything that the program asks of one stands in its file. */
import {z} from 'zod'
import type {Task} from './task.js'

const positive = z.int().positive()

/** Fields that tasks share. */
export const FIELDS = {positive, length: positive.describe('L, tokens of a sequence.')}

/** How much is spent. */
type Size = 'standard' | 'quick'

/** What a task is learned with where nothing is typed. */
export interface TaskDefaults {
  length: number
  steps: number
  batch: number
  heldOut: number
  model: {
    layers: number
    width: number
    heads: number
    mlp: number
    convolution: number
    positions: boolean
  }
}

/** Settings that not every task has. */
export interface TaskSettings {
  pairs: readonly number[]
  vocabulary: number
  data: number
  texts: {path: string; digest: string}
}

/** What is asked for. */
export interface TaskRequest {
  length: number
  size: Size
  typed: Partial<TaskSettings>
}

interface TaskKind<Schema extends z.ZodObject> {
  /** Everything that determines a task, save the seed. */
  schema: Schema
  /** What is learned: `to recall values by their keys`. */
  purpose: string
  /** Settings that it has besides the length. */
  settings: readonly (keyof TaskSettings)[]
  defaults: Readonly<Record<Size, TaskDefaults>>
  /** Whether tests count labels that are right, or bits of a label. */
  score: 'accuracy' | 'bits'
  /** Tasks to compare. */
  plan(asked: TaskRequest): z.infer<Schema>[]
  /** @param text - what it reads; empty for a task without texts */
  make(options: z.infer<Schema>, seed: number, text: string): Task
  /** Tasks that differ by lists of settings, in a few words. */
  title(tasks: readonly z.infer<Schema>[]): string
  /** What the tasks of a plan differ by; default: the name. */
  short?(options: z.infer<Schema>): string
}

/** A kind with functions that take a task as records have it. */
export function defineTask<Schema extends z.ZodObject>(kind: TaskKind<Schema>) {
  const {schema, make, title, short} = kind
  return {
    ...kind,
    make: (task: object, seed: number, text: string) => make(schema.parse(task), seed, text),
    title: (tasks: readonly object[]) => title(tasks.map(task => schema.parse(task))),
    short: (task: {name: string}) => short?.(schema.parse(task)) ?? task.name,
  }
}
