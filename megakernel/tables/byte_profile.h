// SPDX-License-Identifier: MIT
// How often byte pairs occur in source text after folding with | 0x20: a frozen model of which
// windows of a literal are rare. Measured once on headers, scripts and documentation of a Debian
// system; window choice, and so every table, depends on it.
//
// A folded byte has one of 65 classes: 0x20..0x3f, 0x60..0x7f, and all others. A cost is
// -3 * log2(probability), rounded, as a digit (A-Z a-z 0-9 + -): of a class, and of a class after
// another.
#pragma once

#include <cstdint>
#include <string_view>

namespace keysieve::megakernel {

inline constexpr std::string_view kFirstCost =
    "IjXXdkfYUTOhUWWUVXYabZbcbaXYYYXncOUPQLRTSOcVPSOOQeONNRVXVVdZbZkPd";
// One row for each class that goes before.
inline constexpr std::string_view kNextCost =
    "DfVXYfbVTdOeqYfVVYacdddedfcgXUflYPTPTTSWWPgbTUTQShSPOUUUXcgVWYlUp"
    "KHNfUekURWLkdMeXYarzqzlnqqceYIedeYaULWaXaSifbaZYVjRTXWXegjnYUdWOm"
    "KkLRTbkZTNMgMXUYZYacgimnmlPUZXJkfRWPTTTUNTdaPSRXSeSQQVVWYefZUXeZY"
    "GigLjpwgnfWwpdjZcVZXXcdidhhsZkxrpZdYEMbhfKuqieahUrdXWXifTvkhihpTn"
    "XYZbUhmYUafmikcWfVbgjlnqpnoheqjeYQQMPPOVSPZTQQQOOZQJNVQVPUVIaaZPp"
    "JkQdVTZWSaUgdZZiLLNPRSUWWWndZZelfTWTPSUYVUeeUUSTTbOHYVWdWbdTYacZl"
    "FfeNeqHbVPPpSlWkehkp33uqtqwbrZTmkRUSTVURcTfbRRTPUWRQTYUbXgmedakQw"
    "LfXUYXgTWMLcHXUZYXachgghiiQUTbdhXSTQSSTUVRaZTRSVSdSNOUUWYbaXOScWO"
    "TaTjSgZROKQkqdcdTUYceghigjgkYnpaaQRKTSSURPbZTTRLOeRIQTSYQedYZqkNn"
    "HqagcnfaSHHiLaSSWWadfghihiRIVdceYZaYbabddYrhZaZRaoYXXZbhcnmYZToUl"
    "EjeLhqpceOIsbbfMbVYaaeYZcearSacmcVWSVVXbfSneZZYWUoYSTYWeWloZhUpWi"
    "FjUiVipPRNQIWQaWQORVbfghgebVaMeafZaYZRTdbSceaZYcZhZWadchdgiYRWjRg"
    "BpdqegrWgYHopklmaZacddijjktqfzwvnfgggggnjgtmjhgaktjgfljponphknzge"
    "MwfphllcgiUdoDgibTTaddegZZtnkXLlqTTSUTQYWTcWTUVVSfVQRVWWXkYkXesgi"
    "JwWtgmqahXHibpOZMRUXVYYZXZioSecnmRUMTSTRMTVaTRUQRfSPTWUVWdfgbdpPd"
    "JedhfnseicGraefGeYYZZcdefenfeYVojOWORVZQXVZiPXOWQmZORXcVZikjdjcbu"
    "OrXqveoYdPMjNWPfHONQRSSTSIXUZneqdWWWWXVknn1lcmsli2nmoZskJunjYTkRk"
    "MqVZpqjXaPOmNYQaLMKPPQMQQPUUZkZscVWWTTTinivkaksrgngdfXcjismccSuHi"
    "LuWoqqhWWONkOWNcKOOPONOPNQUVbkWtbTUURVSgdSpbbccbWoeYYXacaulccPgLh"
    "NtXnupgWcQNmNWPcMOIPOPPOOOTYdnU0aUURSVTolfwlYgnrfshhmXbmiumeWUuKg"
    "LuVnupsVWOLpNUPaMNMNOOOPNPTXbhUvZTTUUSSehcphTeesdrfchVeYarkaaRtMe"
    "PzZqzmwXgROnQXRfENPPPONQQPUbfsaxbUUUUUTjfl0rfgpnhtlZkYmgjxkibVzTh"
    "MvXn0suWYOMpNVQdMOOOIMOOOOTZcnc2ZTSTTTSdifuddhdjeyedeWdaXzlcaTvNf"
    "MvYpzruVbOMpOXPeMNMNNNNNNNSadmi6YSSSSSRsvgvtdpvprzqeoWpsk1pwZTvLf"
    "LuWq2qkUXOLmNUReLOOONOLPOOSZclcwZSRSSSScka2beeapcteSiWncaylfaSvNf"
    "Mvajzq1XdPOpQWTdOPOQPPPQPOUegon1aTUUTTUpsozphhmykwmjrXOwptmkbT3Fh"
    "GiamfiuagbIspdiMcZcfeghkilGoWVliYVVQUTTWZSicXSWXSiVQTUTbehfeaamUe"
    "JsZpjsfZqSBpklkhmotswv52+0pjYmqrofehgjgulftsmheghthbglknnouqbe2zl"
    "OWgtZjoccnarmejFfegjilmojrhzQWYkjLPLQWVYSShaNWYSPkYLLTVdekjkhqpP1"
    "ElGkdhhXVhVmjVkVaacggjklkkougHOkkdaXccYeVUohbdVadnWXXdfilgoacgXgj"
    "IsZYejTUOTHkSZSYdadhijjjjlRVHURmaUWRVUVWYUkgXVUYUgUTSXWYUihRdclVi"
    "FRObUceMQNLgdZZXZdgmlonmioJbRQURZZbaZZXifThccaWcRZcXYeefSgmPMXebi"
    "JmZhXhmTcWOmSXQeXXYYYYYYYYWcYkklJQQORRPVVSZaTSQTLfPMRVWXchgTcLfQm"
    "O2e0y1tfaYZxXbagedccgdfffgegloV0kbQMOZWPiQgUJMKkPjKKITUZWTijlk1Tl"
    "RwbyquvYYTYtTbQYaWYXaaZaZabeeicufLWQXJVZiJNZJYYMWmOQUKehXNdigfwPp"
    "Rzdws1mdYUYdXdZeeeaeffegffacaghvjLWRYLadKRdMMPcHVgOQJPbgYUsjjj2Qp"
    "InYjtxnZRTSjSYTbdYYbdcdedfTYbZVofNXYQFYZZLgcTYYPYjSRVSacVYlggdyMe"
    "InYhx0gaQUTqTZUYggfgijhjjjXYadVqfQYNNSMVdXZePQKZSVJMMdTWPUlghdxOh"
    "IvcumzpbQUSuUWRibaaacccbWZddcSfxhOaXVOOefGukObSJWnNTRMidkUwgeg1Qj"
    "JpWut3dZTSUpTUSVnccgklkmirXZbbXpfSaTbHbWQMmjNTKQVnNNRRYfgecdfZ1Mg"
    "MpV1yxjbUVUuWYXilhbbdhe4uqbbddUrgIfdaFcgiKweSVcMWqOUMRhfnZnike2Pj"
    "W2j4x6yhgZfncgdiujcjv1m2mukiiqVusSQNMQNPlfocNQFLRfRLKiSkWoStri4Uw"
    "Rvc5u1mYUUbjSZXnpcaomtyytueekjenkNgVZFdbiShReacNVXfEbPbbojnind5Qm"
    "NrXvu2laTKVqNbWfnafhnsntltbZcdcreQYOXIZXWNkhXWUZZjaRWSbWmfmiie0Ej"
    "NtXbu0obUVVnUbXVmgchppovh1YcafZriKWZRIQVVJWZLdbMWqbPPNTcfRgglh8Jl"
    "NsatpzlYVVYpWaUSmfdgmmjqjsbcdlatiIQWSGVcgMhcQPbMJjbOXRaghUogkf4Ol"
    "KrZxrwlYVUVsVZWfkSjgwynxoyZcddWsiMbNLJQLdRjXUbWNXmaJJQUglYkhfdzQi"
    "Nxg1z3ofYbZwadciwnmr03rxn7egknjxoVROMYOUhPcUPNHRLpINPOTRbefmnm3Ql"
    "Qvctv1hbUUaqUcYefccjjmgffracejUvkJaVWHVaTOsRNYXMPcKQLOcbgQhilh4Mq"
    "MocrfzlYUOZqRbVanddlnqnvmsdWeheojYaXaXccdXqiQZWdXWTTRCeTiogXdfuKp"
    "KmXvwxiXTSVmUZVdrdeinsovmuZZYcXrfLaSSHWRcLsXSQOMUlPONQUZkQnhhbuOj"
    "KqYjwtmaVUUkUWSVrZgipomZhuUZaUdqgSfSbJZZRMrNMXSRPeWJIRbafUcbjd1Ph"
    "JjZuuyiaSUUoTYVYcZdbnscxftZXYfYqgMcUUJXgJLrbUWYMSnLQQPeZSNkfhe2Nj"
    "S4j9yyrfjdcbbldmYcbaoze1cxpiosj1sRNOOLRUkOmiKNIaNoJKKhdkYmkrsn2Vn"
    "S0exrtrabWavYWZfbTTSWdZgXihccgVsjHaVcFYZdLjQXOcKSkZUTUXgbhnYiiwOr"
    "NpbtmvnaQXWgXZSaobgbsqkwuwdZcjeqhJaWTLZdKGpfWZOMXhMRaRfRbhjhfgzMi"
    "MsZrlooZROXjOUVZNSTTUIWaRXZYbcfrgRYOXPTddRrYZRWZMjaPIedeRXjZiYpLi"
    "HlVurweXQSRqQXSdofgirvpwq0VWXcWmdUXWaUUXfSogSSRQFZSNPadUlggffauLf"
    "TuYnjvrWZUZpWZZbcgaQpwmnotfbfkeqiMabcCafYNsmSSdQccbZccjeeXVlfYqLe"
    "KeVPSVeQZdFaWXOgPRVWXbadbeYlaepnOTWRSVUaYRbZUWUVUcWRVZXbbkhOWMWQw"
    "KgUfWbYUXZGefbUXZcgjquotntehZXedZVQQTSWceTlgYbMZLfSQRMcVLjdNMWdUh"
    "HoQocomWLLFVMXTWuoqyu818xuUKZccbbnnlkjkkpkysomqrl4ljmsoqk18PTRmTn"
    "IbUXYadTOaQfcUWUUWWZfgehjjZdZUadXWXVXVYbYWecYUXUXhXUUYYYZgiSNXDTm"
    "Y1cffyzhabcxfkfoZYbZkhgmkkqdnvrvpNQJOOOQSNeWQPOONdPJLSQVTebfniyNz"
    "UrRonmgJZcdnlZfjbccdiminkmo0advoiRVUWWUaYThgWVWUVmWSRXXVdclhYluiC";
static_assert(kFirstCost.size() == 65 && kNextCost.size() == 65 * 65);

// `folded` has bit 5 set.
constexpr uint32_t ByteClass(uint8_t folded) {
  if (folded >= 0x80) return 64;
  return folded < 0x40 ? folded - 0x20u : folded - 0x40u;
}

constexpr uint32_t DigitValue(char digit) {
  if (digit >= 'A' && digit <= 'Z') return static_cast<uint32_t>(digit - 'A');
  if (digit >= 'a' && digit <= 'z') return static_cast<uint32_t>(digit - 'a') + 26;
  if (digit >= '0' && digit <= '9') return static_cast<uint32_t>(digit - '0') + 52;
  return digit == '+' ? 62 : 63;
}

}  // namespace keysieve::megakernel
