/* SPDX-License-Identifier: BSD-3-Clause */

/* Files of profiles, commands in them, and the JSON of credentials. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "net/aws_profile.h"
#include "net/credential_process.h"
#include "net/credentials.h"

static void insist(bool what)
{
    if (!what)
        abort();
}

static void split(const char *command)
{
    char **words;
    int n = credential_process_split(command, &words);
    size_t len = 0;

    if (n < 0)
        return;
    for (int i = 0; i < n; i++)
        len += strlen(words[i]);
    insist(!words[n] && len <= strlen(command));
    free(words);
}

static void parse_profile(enum aws_file_kind kind, const char *text,
                          size_t size)
{
    struct aws_file file = { kind, text, size };
    struct aws_profile profile = { 0 };
    struct fault fault = FAULT_NONE;

    if (aws_profile_parse(&file, "default", &profile, &fault) < 0)
        insist(fault.what && fault.off < size);
    else if (profile.values[AWS_CREDENTIAL_PROCESS])
        split(profile.values[AWS_CREDENTIAL_PROCESS]);
    for (unsigned i = 0; i < AWS_NPROPERTIES; i++)
        insist(!profile.values[i] ||
               (profile.found && profile.values[i][0] != '\0' &&
                !strchr(profile.values[i], '\n')));
    aws_profile_fini(&profile);
}

static void check(int r, struct credentials *credentials,
                  const struct fault *fault, size_t size)
{
    if (r < 0) {
        insist(fault->what && fault->off <= size);
        return;
    }
    insist(credentials->id[0] != '\0' && credentials->secret[0] != '\0');
    insist(!strpbrk(credentials->id, " \r\n"));
    insist(!credentials->token || !strpbrk(credentials->token, " \r\n"));
    credentials_fini(credentials);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct fault fault = FAULT_NONE;
    struct credentials credentials;

    parse_profile(AWS_FILE_CONFIG, text, size);
    parse_profile(AWS_FILE_CREDENTIALS, text, size);
    check(credentials_parse(text, size, &credentials, &fault), &credentials,
          &fault, size);
    check(credentials_parse_sts(text, size, &credentials, &fault), &credentials,
          &fault, size);
    return 0;
}
