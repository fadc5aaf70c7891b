/** Help of two lengths: `-h` shows what people use of a command, `--help` all of it. */
import type {Command} from '@oclif/core/command'
import {CommandHelp, Help} from '@oclif/core/help'
import {typedProgram} from '../program/typed.js'
import {BRIEF_FLAGS, type BriefFlags} from './brief-flags.js'
import {rootHelp} from './root-help.js'

type Flag = Command.Flag.Cached

/** What commands and flags are printed by: the package names it as `helpClass` to oclif. */
export default class ProgramHelp extends Help {
  constructor(...[config, options]: ConstructorParameters<typeof Help>) {
    const bin = typedProgram(process.env, config.bin)
    super(Object.create(config, {bin: {value: bin}}), options)
  }

  override async showHelp(argv: string[]): Promise<void> {
    this.CommandHelpClass = argv.includes('--help') ? AlignedHelp : BriefHelp
    await super.showHelp(argv)
  }

  /** The commands in groups, by the questions that they answer: one screen. */
  override async showRootHelp(): Promise<void> {
    const {bin, pjson, version} = this.config
    const {title, rows, start} = rootHelp({bin, version, description: pjson.description})
    const commands = this.renderList(rows, {indentation: 0})
    this.log(`${this.wrap(title, 0)}\n${commands}\n${this.wrap(start, 0)}`)
  }
}

/** Lists whose first entry stands in the column of the others: oclif drops the blanks before a flag without a letter. */
class AlignedHelp extends CommandHelp {
  override renderList(...[input, opts]: Parameters<CommandHelp['renderList']>): string {
    const text = super.renderList(input, opts)
    const label = input[0]?.[0] ?? ''
    const own = label.trimStart()
    // where labels have lines for themselves there are no columns
    return text.startsWith(`${own}\n`) ? text : label.slice(0, label.length - own.length) + text
  }
}

/** Lines of a screen, less that of the prompt. */
const SCREEN_LINES = 23

/** Usage, the flags that people use, one line each, and the examples that fit on one screen with them. */
class BriefHelp extends AlignedHelp {
  override generate(): string {
    const {bin} = this.config
    const {id, examples = [], flags} = this.command
    const commands = examples.map(example =>
      this.continued(`$ ${this.render(typeof example === 'string' ? example : example.command)}`),
    )
    const usage = this.wrap(`usage: ${[bin, id, ...this.operands(), '[FLAGS]'].join(' ')}`, 0)
    const all = `all ${Object.keys(flags).length} flags, examples and exit codes: ${bin} ${id} --help`
    const help = (shown: number) =>
      [
        usage,
        this.section('EXAMPLES', commands.slice(0, shown).join('\n')),
        this.section('FLAGS', this.list(BRIEF_FLAGS[id] ?? {})),
        this.wrap(all, 0),
      ].join('\n\n')
    let shown = commands.length
    while (shown > 1 && help(shown).split('\n').length + SUMMARY_LINES > SCREEN_LINES) shown -= 1
    return help(shown)
  }

  private operands(): string[] {
    return Object.values(this.command.args).map(arg => this.arg(arg) + (arg.multiple ? '...' : ''))
  }

  /** A command on lines that fit: a shell joins them again. */
  private continued(command: string): string {
    if (this.config.platform === 'win32') return command
    const room = this.opts.maxWidth - ' \\'.length - CONTINUED.length
    const lines: string[] = []
    for (const part of command.split(/ (?=--)/)) {
      const last = lines.at(-1)
      if (last !== undefined && last.length + part.length < room)
        lines.push(`${lines.pop()} ${part}`)
      else lines.push(part)
    }
    return lines.join(` \\\n${CONTINUED}`)
  }

  /** A line for each flag, with its default where there is room. */
  private list(brief: BriefFlags): string {
    const flags = Object.entries(brief).flatMap(([name, text]) => {
      const flag = this.command.flags[name]
      return flag ? [{label: labelOf(name, flag), text, note: defaultOf(flag)}] : []
    })
    const width = Math.max(0, ...flags.map(({label}) => label.length))
    const room = this.opts.maxWidth - this.indentSpacing - width - 2
    const rows = flags.map(({label, text, note}): [string, string] => [
      label,
      text.length + note.length <= room ? text + note : text,
    ])
    return this.renderList(rows, {indentation: this.indentSpacing})
  }
}

/** What stands above: the summary of the command. */
const SUMMARY_LINES = 2

/** Before all but the first line of a command. */
const CONTINUED = '    '

/** As `-o, --output DIR`, `--[no-]causal`. */
function labelOf(name: string, flag: Flag): string {
  const char = flag.char ? `-${flag.char}, ` : '    '
  if (flag.type === 'boolean') return `${char}--${flag.allowNo ? '[no-]' : ''}${name}`
  const value = flag.helpValue ?? name.replace(/.*-/, '').toUpperCase()
  return `${char}--${name} ${value}`
}

/** What the description of a flag says of its default. */
function defaultOf({description = ''}: Flag): string {
  const value = /\(default: ([^()]+)\)/.exec(description)?.[1]
  return value === undefined ? '' : ` (default: ${value})`
}
