/** The commands of the source tree. */
import {readdirSync} from 'node:fs'
import type {Command} from '@oclif/core/command'

const folder = new URL('../../commands/', import.meta.url)

/** Their names, in the order of the alphabet. */
export const commandIds = readdirSync(folder)
  .map(file => file.replace(/\.ts$/, ''))
  .sort()

/** The class of one. */
export async function loadCommand(id: string): Promise<typeof Command> {
  const {default: command} = await import(new URL(`${id}.ts`, folder).href)
  return command
}
