/** What messages call the setting of a flag: `seqLen`, in backquotes. */
export function settingName(flag: string): string {
  return flag.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
