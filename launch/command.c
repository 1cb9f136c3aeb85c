#include "launch/command.h"

#include <stdio.h>

int gsrt_command_print(const gsrt_options *options)
{
    gsrt_buffer text;
    gsrt_buffer_init(&text, GSRT_TEXT_BYTES_MAX);
    gsrt_status status = options->command == GSRT_COMMAND_HELP ? gsrt_options_print_help(options->tool, &text)
                                                               : gsrt_options_print_version(options->tool, &text);
    if (status == GSRT_OK && fwrite(text.data, 1, text.len, stdout) != text.len)
        status = GSRT_EIO;
    gsrt_buffer_fini(&text);
    return gsrt_exit_code(status);
}
